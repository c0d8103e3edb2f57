// Attempts, by books of our own: I5 each attempt has the next number, what was lost before its start is counted apart and
// bounded; I8 a dead run tells of every attempt, each with its number, its node, its token and its error.
import type { Settlement } from "../../../core/domain/Outcome.ts"
import type { Attempt, ErrorInfo, Run } from "../../../core/domain/Run.ts"
import type { Claim, Held } from "../../../core/ports/StoreDriver.ts"
import type { Call, Change } from "../Ground.ts"
import type { Check, Scene } from "./Check.ts"

/** What our books say of one run. */
interface Book {
  /** Attempts that failed, in order. */
  readonly failed: Array<Pick<Attempt, "attempt" | "token" | "node"> & { readonly error: ErrorInfo | null }>
  /** Under its latest token. */
  node: string | null
  isStarted: boolean
  losses: number
}

// Losses before a start was acknowledged, until the run counts as dead.
const lossMax = 5

/** The checks. */
export const attemptChecks = ({ watch, ground: { table } }: Scene): Check => {
  const books = new Map<string, Book>()
  const violated = (invariant: string, run: Run, what: string): void =>
    watch.violated(invariant, `${run.job} ${run.id} ${what}`)
  const bookOf = (id: string): Book => {
    const known = books.get(id)
    if (known !== undefined) return known
    const made: Book = { failed: [], node: null, isStarted: false, losses: 0 }
    books.set(id, made)
    return made
  }

  const claimed = (call: Call, run: Run): void => {
    const wish = call.args[0] as Claim
    const book = bookOf(run.id)
    book.node = wish.node
    book.isStarted = wish.acknowledged && wish.expanding?.includes(run.job) !== true
    if (run.attempt !== book.failed.length + 1)
      violated("I5", run, `begins attempt ${run.attempt} after ${book.failed.length} that failed`)
  }

  const reclaimed = (book: Book, before: Run, after: Run): void => {
    // Its flow ended by another one that was lost: it was taken back, and no attempt counts.
    if (after.state === "cancelled") return
    const isFree = after.state === "ready"
    if (isFree) book.losses++
    if (isFree && book.isStarted) violated("I5", after, "was lost after its start, and no attempt was used")
    if (!isFree && !book.isStarted && book.losses < lossMax)
      violated("I5", after, `was lost before its start, and attempt ${before.attempt} was used`)
    if (book.losses > lossMax) violated("I5", after, `was lost ${book.losses} times before its start`)
  }

  /** The error that its settlement named; `null`: the store's own. */
  const named = ({ operation, args }: Call, { id, token }: Run): ErrorInfo | null => {
    if (operation !== "settle") return null
    const settlement = (args[0] as ReadonlyArray<Settlement>).find(
      (each) => each.id === id && each.token === token,
    )
    return settlement?.kind === "failed" ? settlement.error : null
  }

  /** Taken back with its node, or given back by it, as the worker has vanished with it. */
  const isLoss = (call: Call, { id, token, state }: Run): boolean =>
    state === "running" &&
    (call.operation === "reclaim" ||
      (call.operation === "settle" &&
        (call.args[0] as ReadonlyArray<Settlement>).some(
          (each) => each.kind === "released" && each.loss === true && each.id === id && each.token === token,
        )))

  const changed = (call: Call, { before, after }: Change): void => {
    if (after.state === "running" && before?.state !== "running") claimed(call, after)
    const hadBegun = before?.state === "running" || (before?.state === "blocked" && before.attempt > 0)
    if (before === null || !hadBegun) return
    const book = bookOf(after.id)
    if (call.operation === "adopt") book.node = after.node
    if (isLoss(call, before)) reclaimed(book, before, after)
    if (after.state === "retrying" || after.state === "dead") {
      // Where it has expanded no node carries it any more.
      const node = before.state === "running" ? book.node : null
      const error = before.state === "running" ? named(call, before) : null
      book.failed.push({ attempt: before.attempt, token: before.token, node, error })
    }
    if (after.state === "dead" && book.losses < lossMax && after.losses !== book.losses)
      violated("I5", after, `counts ${after.losses} losses before its start, there were ${book.losses}`)
  }

  const checkRows = (run: Run): void => {
    const rows = table.entries.get(run.id)?.attempts ?? []
    const failed = books.get(run.id)?.failed ?? []
    if (rows.length !== failed.length)
      return violated("I8", run, `tells of ${rows.length} failed attempts, there were ${failed.length}`)
    for (const [place, row] of rows.entries()) {
      const own = failed[place]
      if (row.attempt !== place + 1) violated("I8", run, `has attempt ${row.attempt} in place ${place + 1}`)
      if (row.token !== own?.token || row.node !== own.node)
        violated("I8", run, `tells of attempt ${row.attempt} by ${row.node} under ${row.token}`)
      if (row.error.name === "" || (own?.error != null && row.error !== own.error))
        violated("I8", run, `has another error of attempt ${row.attempt} than it failed with`)
    }
  }

  const checkDead = (run: Run): void => {
    checkRows(run)
    const letter = table.letters.get(run.id)
    if (letter === undefined) return
    const isSame =
      letter.attempt === run.attempt && letter.error === run.error && letter.diedAt === run.endedAt
    if (!isSame) violated("I8", run, "has a letter that tells another story")
  }

  return {
    saw: (call, answer) => {
      for (const change of call.changes) changed(call, change)
      if (call.operation === "started" && answer !== undefined) {
        const held = call.args[0] as ReadonlyArray<Held>
        for (const [place, isHeld] of (answer as ReadonlyArray<boolean>).entries())
          if (isHeld) bookOf(held[place]?.id ?? "").isStarted = true
      }
      for (const { after } of call.changes) if (after.state === "dead") checkDead(after)
    },
    end: () => {
      for (const { run } of table.entries.values()) checkRows(run)
    },
  }
}
