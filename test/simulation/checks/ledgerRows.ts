// Each row of a step by itself: whether its instant is one of the pattern and has come, and whether its reason is right.
import type { Fire } from "../../../core/ports/StoreDriver.ts"
import { type Known, type LedgerState, type Row, time } from "./LedgerState.ts"
import { knownUntil } from "./patterns.ts"

const day = 86_400_000
const lateMillis = 5000
const queueMax = 1000

/** What is wrong with the rows of a step. */
export class RowChecks {
  readonly #state: LedgerState

  constructor(state: LedgerState) {
    this.#state = state
  }

  checkRow(known: Known, fire: Fire, row: Row, isSkip: boolean): void {
    const { at, lastAt, reason } = row
    // A fixed delay that is over in a millisecond that is decided already takes the next one; its run is due then.
    const isPushed = known.slots === null && at === known.cursor + 1
    if (lastAt > this.#state.seen(known) + (isPushed ? 1 : 0) && !isSkip)
      this.#state.violated(
        known,
        `has ${reason ?? "a run"} at ${time(lastAt)}, ${lastAt - this.#state.now} ms before it has come`,
        "I9",
      )
    if (known.slots === null) return this.#checkDelay(known, row)
    if (lastAt > at) return this.#checkRange(known, row)
    if (this.#state.rowOf(known.id, at) !== undefined) this.#state.violated(known, `has ${time(at)} twice`)
    if (this.#state.isAgain(known, at) && known.slots.at(at) === undefined) return
    // Somebody skipped the next one of a pattern that calendars leave nothing but a clock change in another year.
    if (at >= knownUntil) return
    const slot = known.slots.at(at)
    if (slot === undefined)
      return this.#state.violated(
        known,
        `has ${reason ?? "a run"} at ${time(at)}, which is no instant of ${JSON.stringify(known.given.trigger)}`,
      )
    const { closed, kind } = known.given.trigger
    const of = closed === "hold" && kind !== "at" ? slot.of.filter((each) => each > known.cursor) : slot.of
    const newest = of[of.length - 1] ?? at
    if (row.count !== Math.max(1, of.length) || row.nominalAt !== (newest === at ? null : newest))
      this.#state.violated(
        known,
        `says that ${time(at)} stands for ${row.count} instants up to ${time(row.nominalAt ?? at)}, which are ${of.length} up to ${time(newest)}`,
      )
    if (slot.closed !== (reason === "calendar" || reason === "blackout" ? reason : null))
      return this.#state.violated(
        known,
        `has ${reason ?? "a run"} at ${time(at)}, where its calendars say ${slot.closed ?? "open"}`,
      )
    if (reason === null) this.#checkRun(known, fire, at)
    else this.#checkReason(known, row)
  }

  #checkRange(known: Known, row: Row): void {
    const { at, lastAt, count, reason, runId } = row
    if (runId !== null) this.#state.violated(known, "has one run for many instants")
    // Somebody skipped the next one, and calendars close everything up to a year that the model does not know.
    if (lastAt >= knownUntil) return
    const slots = (known.slots?.between(at, lastAt) ?? []).filter(
      (slot) =>
        slot.closed === (reason === "calendar" || reason === "blackout" ? reason : null) &&
        this.#state.rowOf(known.id, slot.at) === undefined,
    )
    const instants = slots.reduce((sum, { of }) => sum + of.length, 0)
    // Where it went on in time that came again, its instants are others.
    const isRight = instants === count && slots[0]?.at === at && slots[slots.length - 1]?.at === lastAt
    if (!isRight && known.again.length === 0)
      this.#state.violated(
        known,
        `counts ${count} instants from ${time(at)} to ${time(lastAt)}, which are ${instants} from ${time(slots[0]?.at ?? 0)} to ${time(slots[slots.length - 1]?.at ?? 0)} without those that have a row`,
      )
    // What holds for the newest of them holds for the others.
    this.#checkReason(known, { ...row, at: lastAt })
  }

  #checkRun(known: Known, { occurrences }: Fire, at: number): void {
    const { given, waitsUntil, resumedAt, read } = known
    if (given.trigger.kind !== "at" && resumedAt !== null && at <= resumedAt)
      this.#state.violated(known, `has a run for ${time(at)}, which passed in a pause`)
    if (read === null)
      return this.#state.violated(known, `has a run for ${time(at)}, and nobody had read that it is due`)
    const {
      mode = "latest",
      windowMillis = given.trigger.kind === "at" ? Infinity : day,
      max = 100,
    } = given.catchUp ?? {}
    // What waited, in its turn.
    if (waitsUntil !== null && given.overlap === "queueAll") return
    const until = Math.min(waitsUntil ?? Infinity, read.now)
    const tooOld = until - (mode === "skip" ? lateMillis : windowMillis)
    if (at < tooOld)
      this.#state.violated(
        known,
        `has a run for ${time(at)}, ${until - at} ms late, with ${JSON.stringify(given.catchUp)}`,
      )
    const most = mode === "all" && given.overlap !== "cancelRunning" ? max : 1
    if (this.#state.newer(known, at, until) >= most)
      this.#state.violated(known, `has a run for ${time(at)}, and there were ${most} newer ones`)
    if (occurrences.filter(({ runId }) => runId !== null).length > most)
      this.#state.violated(known, `has more than ${most} runs in one step`)
  }

  #checkReason(known: Known, { at, reason }: Row): void {
    const { given, waitsUntil, resumedAt, read } = known
    const until = this.#state.seen(known)
    switch (reason) {
      case "missed": {
        const { mode = "latest", windowMillis = day, max = 100 } = given.catchUp ?? {}
        // Fresh ones that find the last run alive are skipped in one go, and the newest of them stands for all.
        const isSkipped = given.overlap === "skip" && read?.alive === true
        const most = mode === "all" && given.overlap !== "cancelRunning" && !isSkipped ? max : 1
        const isLate = until - at > (mode === "skip" ? Math.min(lateMillis, windowMillis) : windowMillis)
        // Another one may stand in for it that somebody gave its run before.
        if (!isLate && this.#state.newer(known, at, until, false) < most)
          this.#state.violated(
            known,
            `says that ${time(at)} was missed, ${until - at} ms later, with fewer than ${most} newer ones`,
          )
        return
      }
      case "overlap": {
        // Also where the one that waited has got its run by hand meanwhile.
        const waited = waitsUntil !== null && at > waitsUntil
        const isCrowd = given.overlap === "queueAll" && this.#state.newer(known, at, until) >= queueMax
        if (read?.alive !== true && !waited && !isCrowd)
          this.#state.violated(known, `says that ${time(at)} overlapped, and its last run was not alive`)
        // What waited did so by an overlap that was edited since.
        if (!waited && (given.overlap === "allow" || given.overlap === "cancelRunning"))
          this.#state.violated(known, `says that ${time(at)} overlapped, which it allows`)
        return
      }
      case "paused":
        if (resumedAt === null || at > resumedAt || given.trigger.kind === "at")
          this.#state.violated(known, `says that ${time(at)} passed in a pause`)
        return
      default:
    }
  }

  /** A fixed delay: so long after the end of the last run, or when it was said to come. */
  #checkDelay(known: Known, { at, count, reason }: Row): void {
    const { given, cursor, openings } = known
    const { trigger } = given
    const due = this.#state.delayOver(known)
    if (count !== 1 || (at !== due && at !== Math.max(due, cursor + 1)))
      this.#state.violated(
        known,
        `has ${reason ?? "a run"} at ${time(at)}, and its delay was over at ${time(due)}`,
      )
    if (due > (trigger.endsAt ?? Infinity)) this.#state.violated(known, `has ${time(at)}, after its end`)
    if (this.#state.rowOf(known.id, at) !== undefined) this.#state.violated(known, `has ${time(at)} twice`)
    const closed = trigger.closed === "hold" ? null : openings.closed(due)
    if (reason === "skipped") return
    const isOverlap = this.#state.isAlive(known) && given.overlap === "skip"
    const right =
      closed ?? (isOverlap || (known.read?.alive === true && reason === "overlap") ? "overlap" : null)
    if (reason !== right)
      this.#state.violated(
        known,
        `has ${reason ?? "a run"} at ${time(at)}, and should have ${right ?? "a run"}`,
      )
  }

  checkCount({ given, runCount, id }: Known, { occurrences }: Fire): void {
    const { countMax = Infinity } = given.trigger
    const runs = occurrences.filter(({ runId }) => runId !== null).length
    if (runs > 0 && runCount + runs > countMax)
      this.#state.violated({ id }, `has ${runCount + runs} runs, of at most ${countMax}`)
  }
}
