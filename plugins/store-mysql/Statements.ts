// The statements of one transaction, in the order of the calls. MySQL ends a transaction over a deadlock by itself, and
// whatever is sent after that is a transaction of its own: so each statement is sent when the one before has ended well
// enough, and none after the end, whoever still has some to send.
import type { Row } from "uhrwerk/sql"
import type { Changed, Queryable, Values } from "./Connection.ts"
import { isOfServer, isTransient } from "./failures.ts"

/** Refuses everything once its transaction is over. */
export class Statements implements Queryable {
  private readonly queryable: Queryable
  private before: Promise<unknown> = Promise.resolve()
  private over: { readonly error: unknown } | undefined

  constructor(queryable: Queryable) {
    this.queryable = queryable
  }

  read(text: string, values?: Values): Promise<ReadonlyArray<Row>> {
    return this.next(() => this.queryable.read(text, values))
  }

  change(text: string, values?: Values): Promise<Changed> {
    return this.next(() => this.queryable.change(text, values))
  }

  /** Sends nothing more, and waits for what is under way. */
  async end(): Promise<void> {
    this.over ??= { error: new Error("The transaction is over") }
    await this.before
  }

  /** The same when all was well; throws what has ended the transaction, although nobody said so. */
  async finish(): Promise<void> {
    await this.before
    const ended = this.over
    await this.end()
    if (ended !== undefined) throw ended.error
  }

  private next<A>(send: () => Promise<A>): Promise<A> {
    const answer = this.before.then(async () => {
      if (this.over !== undefined) throw this.over.error
      try {
        return await send()
      } catch (error) {
        if (isTransient(error) || !isOfServer(error)) this.over = { error }
        throw error
      }
    })
    this.before = answer.catch(() => {})
    return answer
  }
}
