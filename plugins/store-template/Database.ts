// The database: tables of rows by their keys, and transactions that are whole or were never there. This file is what
// you throw away first; in its place comes your database's client.

// Takes back one change.
type Undo = () => void

/** One table. Rows are never changed in place: a change puts a new row in place of the old one. */
export class Table<Row> {
  private readonly rows = new Map<string, Row>()
  private readonly keyOf: (row: Row) => string
  private readonly undo: Array<Undo>

  constructor(keyOf: (row: Row) => string, undo: Array<Undo>) {
    this.keyOf = keyOf
    this.undo = undo
  }

  get(key: string): Row | undefined {
    return this.rows.get(key)
  }

  /** The rows of these keys, without those that are not there. */
  some(keys: ReadonlyArray<string>): Array<Row> {
    return keys.flatMap((key) => this.rows.get(key) ?? [])
  }

  /** Rows that are so. This goes through all of them: where a comment names an index, yours does not. */
  where(isSo: (row: Row) => boolean): Array<Row> {
    return [...this.rows.values()].filter(isSo)
  }

  put(row: Row): void {
    this.change(this.keyOf(row), row)
  }

  remove(key: string): void {
    this.change(key, undefined)
  }

  private change(key: string, row: Row | undefined): void {
    const before = this.rows.get(key)
    this.undo.push(() => this.set(key, before))
    this.set(key, row)
  }

  private set(key: string, row: Row | undefined): void {
    if (row === undefined) this.rows.delete(key)
    else this.rows.set(key, row)
  }
}

/** Tables that change together. */
export class Database {
  private readonly undo: Array<Undo> = []
  private lastId = 0

  table<Row>(keyOf: (row: Row) => string): Table<Row> {
    return new Table(keyOf, this.undo)
  }

  /** A number that no row has. One that a transaction took is not given again, also when that was taken back. */
  nextId(): number {
    return ++this.lastId
  }

  /** All that `body` changes stays, or nothing of it when it throws. It never waits, so nobody comes between. */
  transaction<A>(body: () => A): A {
    try {
      return body()
    } catch (error) {
      for (const takeBack of this.undo.reverse()) takeBack()
      throw error
    } finally {
      this.undo.length = 0
    }
  }
}
