// The database: tables of rows by their keys, and transactions that are whole or were never there. This file is what
// you replace first, by your database's client.

/** One table. Rows are never changed in place: a change puts a new row where the old one was. */
export class Table<Row> {
  private readonly rows = new Map<string, Row>()
  private readonly keyOf: (row: Row) => string
  private readonly before: (takeBack: () => void) => void

  constructor(keyOf: (row: Row) => string, before: (takeBack: () => void) => void) {
    this.keyOf = keyOf
    this.before = before
  }

  get(key: string): Row | undefined {
    return this.rows.get(key)
  }

  /** The rows of these keys, without those that are not there. */
  some(keys: ReadonlyArray<string>): Array<Row> {
    return keys.flatMap((key) => this.get(key) ?? [])
  }

  /** The rows that are so. It looks at all of them; where a comment names an index, yours need not. */
  where(isSo: (row: Row) => boolean): Array<Row> {
    return [...this.rows.values()].filter(isSo)
  }

  put(row: Row): void {
    this.set(this.keyOf(row), row)
  }

  remove(key: string): void {
    this.set(key, undefined)
  }

  private set(key: string, row: Row | undefined): void {
    const old = this.rows.get(key)
    this.before(() => this.write(key, old))
    this.write(key, row)
  }

  private write(key: string, row: Row | undefined): void {
    if (row === undefined) this.rows.delete(key)
    else this.rows.set(key, row)
  }
}

/** Tables that change together. */
export class Database {
  // How to take back what the transaction that is under way has done; `undefined` while there is none.
  private undo: Array<() => void> | undefined
  private lastId = 0

  table<Row>(name: string, keyOf: (row: Row) => string): Table<Row> {
    return new Table(keyOf, (takeBack) => {
      if (this.undo === undefined) throw new Error(`Table "${name}" was changed outside a transaction`)
      this.undo.push(takeBack)
    })
  }

  /** A number that no row has, higher than those before. */
  nextId(): number {
    return ++this.lastId
  }

  /** All that `body` changes stays, or nothing of it when it throws. It never waits, so nobody comes between. */
  transaction<A>(body: () => A): A {
    this.begin()
    try {
      const answer = body()
      this.commit()
      return answer
    } catch (error) {
      this.rollback()
      throw error
    }
  }

  begin(): void {
    if (this.undo !== undefined) throw new Error("A transaction is under way already")
    this.undo = []
  }

  commit(): void {
    this.undo = undefined
  }

  rollback(): void {
    for (const takeBack of this.undo?.toReversed() ?? []) takeBack()
    this.undo = undefined
  }
}
