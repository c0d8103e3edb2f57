// Catching up by hand: the instants of a schedule within a range of the past get their runs, but for those that have
// one. The planner does the same by itself after an absence, within the schedule's own window; this is for what it
// left out, or for the time before the schedule was there.
import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import { InvalidInput, type InvalidSchedule, type StoreError, type UnknownJob } from "../domain/Errors.ts"
import type { Occurrence, OccurrenceReason, ScheduleRow } from "../domain/Schedule.ts"
import { quote } from "../domain/TimeSpan.ts"
import { ScheduleStore, StoreInfo } from "../ports/Store.ts"
import type { Fill, Filled } from "../ports/StoreDriver.ts"
import { type ParsedTrigger, slotsOf } from "../trigger/Slots.ts"
import type { RunsOf } from "./ScheduledRuns.ts"

/** Which instants, as epoch milliseconds. */
export interface BackfillRequest {
  readonly from: number
  /** Inclusive; not after now, which it is when absent. */
  readonly to?: number
  /** At most so many runs, 1 to 10,000; absent: 100. */
  readonly max?: number
  /** Which ones first, and with more than `max`, which ones at all; absent: `oldest`. */
  readonly order?: "oldest" | "newest"
  /** Only says what it would do. */
  readonly dryRun?: boolean
}

/** What there was of an instant, and what became of it. */
export interface BackfilledInstant {
  readonly at: number
  /** Its run, the reason why it had none, or `null`: it was never decided. */
  readonly before: "run" | OccurrenceReason | null
  readonly runId: string | null
  /** `planned` in a dry run; `exists` when it had a run. */
  readonly result: "created" | "exists" | "planned"
}

/** All instants that were looked at, in the order of their runs. */
export interface Backfilled {
  readonly instants: ReadonlyArray<BackfilledInstant>
  /** Whether there are more in the range than `max` allowed. */
  readonly more: boolean
}

/** Gives instants of the past their runs; `undefined` without the schedule. */
export type Backfill = (
  id: string,
  request: BackfillRequest,
) => Effect.Effect<Backfilled | undefined, StoreError | UnknownJob | InvalidInput | InvalidSchedule>

/** Runs of one backfill, unless more are asked for. */
export const backfillMax = 100
/** Runs that may be asked for. */
export const backfillMost = 10_000

// Runs in one write; a chain has several for one instant.
const chunkMax = 500

/** Over the stores. */
export const makeBackfill = (options: {
  readonly runsOf: RunsOf
  readonly parse: (schedule: ScheduleRow) => Result.Result<ParsedTrigger, InvalidSchedule>
}): Effect.Effect<Backfill, never, ScheduleStore | StoreInfo> =>
  Effect.gen(function* () {
    const store = yield* ScheduleStore
    const info = yield* StoreInfo

    /** What the ledger says of the range: rows of single instants by instant, and those of many. */
    const ledgerOf = Effect.fnUntraced(function* (scheduleId: string, from: number, to: number) {
      const single = new Map<number, Occurrence>()
      const many: Array<Occurrence> = []
      for (let before = to + 1; ;) {
        const page = yield* store.occurrences({ scheduleId, before, limit: 200 })
        for (const row of page)
          if (row.count > 1) many.push(row)
          else single.set(row.at, row)
        const last = page[page.length - 1]
        // A row that begins before the range may reach into it: it is on this page.
        if (last === undefined || page.length < 200 || last.at < from) break
        before = last.at
      }
      return (at: number): Occurrence | undefined =>
        single.get(at) ?? many.find((row) => row.at <= at && at <= row.lastAt)
    })

    const fill = Effect.fnUntraced(function* (
      row: ScheduleRow,
      instants: ReadonlyArray<number>,
      { now, nominalOf }: { readonly now: number; readonly nominalOf: (at: number) => number },
    ) {
      const answers: Array<Filled> = []
      let fills: Array<Fill> = []
      let rows = 0
      const write = Effect.gen(function* () {
        answers.push(...(yield* store.backfill(fills)))
        fills = []
        rows = 0
      })
      for (const at of instants) {
        // Due now, so that they start in the order that was asked for.
        const instant = { nominalAt: nominalOf(at), dueAt: now, late: true }
        const runs = yield* Effect.fromResult(options.runsOf(row, instant))
        if (rows > 0 && rows + runs.length > chunkMax) yield* write
        fills.push({ scheduleId: row.id, at, runs })
        rows += runs.length
      }
      if (fills.length > 0) yield* write
      return answers
    })

    return Effect.fnUntraced(function* (id, request) {
      const now = yield* info.now
      const { from, to, max, order } = yield* check(request, now)
      const row = (yield* store.schedules()).find((each) => each.id === id)
      if (row === undefined) return undefined
      const trigger = yield* Effect.fromResult(options.parse(row))
      if (trigger.kind === "after") return yield* withoutInstants(id)
      // Also before the schedule was there; what calendars moved into the range may come from a month before it.
      const since = from - monthMillis
      const slots = slotsOf(trigger, { createdAt: row.createdAt, cursor: since, since })
      const ledger = yield* ledgerOf(id, from, to)
      const before: Array<BackfilledInstant> = []
      const wanted: Array<number> = []
      let at = order === "oldest" ? slots.after(from - 1) : slots.upTo(to)
      while (at !== null && at >= from && at <= to && wanted.length < max && before.length < looksMax) {
        const known = ledger(at)
        const was = known === undefined ? null : known.runId === null ? known.reason : "run"
        const result = was === "run" ? "exists" : "planned"
        before.push({ at, before: was, runId: known?.runId ?? null, result })
        if (was !== "run") wanted.push(at)
        at = order === "oldest" ? slots.after(at) : slots.upTo(at - 1)
      }
      const more = at !== null && at >= from && at <= to
      if (request.dryRun === true || wanted.length === 0) return { instants: before, more }
      const answers = new Map(
        (yield* fill(row, wanted, { now, nominalOf: (each) => slots.nominalOf(each).nominalAt })).map(
          (answer) => [answer.at, answer],
        ),
      )
      const instants = before.map((instant): BackfilledInstant => {
        const answer = answers.get(instant.at)
        // Somebody may have been first, or the schedule deleted meanwhile.
        if (answer === undefined || answer.result === "unknown") return instant
        return { ...instant, runId: answer.runId, result: answer.result }
      })
      return { instants, more }
    })
  })

const monthMillis = 35 * 86_400_000

// Instants that are looked at, with a run or without.
const looksMax = 100_000

const check = (request: BackfillRequest, now: number) =>
  Effect.gen(function* () {
    const { from, to = now, max = backfillMax, order = "oldest" } = request
    if (!(to <= now)) return yield* refuse("to", to, "an instant that has passed")
    if (!(from <= to))
      return yield* refuse(
        "from",
        from,
        "an instant that is not after `to`, which is now when it is left out",
      )
    if (!Number.isInteger(max) || max < 1 || max > backfillMost)
      return yield* refuse("max", max, `a whole number from 1 to ${backfillMost}`)
    if (order !== "oldest" && order !== "newest") return yield* refuse("order", order, '"oldest" or "newest"')
    return { from, to, max, order }
  })

const withoutInstants = (id: string) =>
  new InvalidInput({
    field: `schedule "${id}"`,
    reason: "a fixed delay has no instants of its own: each follows from the end of a run",
    next: "Start runs of its job by hand.",
  })

const refuse = (field: string, value: unknown, wanted: string): InvalidInput =>
  new InvalidInput({ field, reason: `${quote(value)} is not ${wanted}`, next: `Give ${wanted}.` })
