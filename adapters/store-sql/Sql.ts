// How the logic of this folder meets a database: it is generator functions, which never wait themselves. What a table
// answers is there at once (SQLite) or is a promise (PostgreSQL); only a promise is yielded, and who drives the
// generator waits for it. So there is one logic, and a synchronous database pays no microtask for it.
import type { Awaitable } from "../../core/ports/StoreDriver.ts"

/** Logic over a database that comes to an `A`; it yields what must be waited for. */
export interface Sql<A> extends Iterator<Promise<unknown>, A, unknown> {
  [Symbol.iterator](): Sql<A>
}

/** Logic that has come to its end already: what need not wait costs no generator. */
class Done<A> implements Sql<A> {
  private readonly value: A
  constructor(value: A) {
    this.value = value
  }
  next(): IteratorReturnResult<A> {
    return { done: true, value: this.value }
  }
  [Symbol.iterator](): Sql<A> {
    return this
  }
}

/** Logic that only comes to this. */
export const done = <A>(value: A): Sql<A> => new Done(value)

/** Logic that has nothing to do. */
export const nothing: Sql<void> = done(undefined)

/** The answer of a table: `const rows = yield* wait(tables.runs.find(ids))`. */
export const wait = <A>(answer: Awaitable<A>): Sql<A> =>
  answer instanceof Promise ? later(answer) : done(answer)

/** The same for several that do not depend on each other: a database with a network before it gets them all at once. */
export const waitAll = (answers: ReadonlyArray<Awaitable<unknown>>): Sql<unknown> =>
  answers.some((answer) => answer instanceof Promise) ? later(Promise.all(answers)) : nothing

/** What a function makes of the answer of a table. */
export const mapped = <A, B>(answer: Awaitable<A>, change: (value: A) => B): Sql<B> =>
  answer instanceof Promise ? later(answer.then(change)) : done(change(answer))

function* later<A>(answer: Promise<A>): Sql<A> {
  return (yield answer) as A
}

/** Drives logic over a synchronous database. */
export const runSync = <A>(logic: Sql<A>): A => {
  const step = logic.next()
  if (step.done !== true) throw new TypeError("A synchronous database answered with a promise")
  return step.value
}

/** Drives logic over an asynchronous database; a rejected promise is thrown where the logic waits for it. */
export const runAsync = async <A>(logic: Sql<A>): Promise<A> => {
  let step = logic.next()
  while (step.done !== true) {
    let value: unknown
    try {
      value = await step.value
    } catch (error) {
      step = logic.throw!(error)
      continue
    }
    step = logic.next(value)
  }
  return step.value
}
