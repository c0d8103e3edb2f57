// `uhrwerk schedule skip | run | backfill`: what people do to a schedule by hand, on the store itself, beside an
// engine that may be at work on it: each is one step under the version that was read.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { makeIds } from "../../core/domain/Ids.ts"
import type { JobBook } from "../../core/domain/Job.ts"
import { parseInstant } from "../../core/domain/TimeSpan.ts"
import {
  type BackfilledInstant,
  backfillMax,
  backfillMost,
  makeBackfill,
} from "../../core/engine/Backfill.ts"
import { makeOperate } from "../../core/engine/Operate.ts"
import { makeRunsOf } from "../../core/engine/ScheduledRuns.ts"
import { contextDriver, type Store } from "../../core/ports/Store.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { makeTriggerParser } from "../../core/trigger/Dialects.ts"
import { makeParseTrigger } from "../../core/trigger/Triggers.ts"
import { checkConfig } from "../sdk/config.ts"
import { loadDialects } from "../sdk/dialects.ts"
import { UsageError } from "./errors.ts"
import { dateOf, plain, printRows } from "./format.ts"
import { findConfig, loadConfig } from "./loadConfig.ts"
import { type Command, countOf, type Flags, notFound, once, only, storeCommand } from "./open.ts"
import { bookOf } from "../sdk/schedulePreview.ts"

/** The commands by their words. */
export const operateCommands: Readonly<Record<string, Command>> = {
  "schedule skip": storeCommand("schedule skip ID", "leave out its next instant", async (store, args) => {
    const id = only(args, "schedule's id")
    const { operate } = await handOver(store, { jobs: new Map(), layers: [] })
    const answer = await run(store, operate.skipNext(id))
    if (answer.result === "unknown") throw notFound("schedule", id)
    if (answer.result === "skipped") {
      console.log(`${plain(id)} leaves out ${dateOf(answer.at)}`)
      return 0
    }
    console.error(`Schedule ${plain(id)} has no next instant to leave out.`)
    return 1
  }),
  "schedule run": storeCommand(
    "schedule run ID",
    "start a run of it now, beside its instants; reads the config",
    async (store, args) => {
      const id = only(args, "schedule's id")
      const { operate } = await handOver(store, await bookOfConfig())
      const answer = await run(store, operate.runNow(id))
      if (answer.result === "unknown") throw notFound("schedule", id)
      if (answer.result === "created") {
        console.error(
          "An engine on this store starts it within a second. What became of it: uhrwerk run show ID",
        )
        console.log(answer.runId)
        return 0
      }
      console.error(
        `The last run of schedule ${plain(id)} has not ended, and its overlap starts none beside it. ` +
          `Wait for its end, or cancel it: uhrwerk schedule show ${plain(id)}`,
      )
      return 1
    },
  ),
  "schedule backfill": storeCommand(
    "schedule backfill ID --from TIME [--to TIME] [--max N] [--order oldest|newest] [--dry-run]",
    "give instants of the past that have no run theirs; reads the config",
    async (store, args, flags) => backfill(store, only(args, "schedule's id"), flags),
  ),
}

const backfill = async (store: StoreDriver, id: string, flags: Flags): Promise<number> => {
  const said = once("--from", flags.from)
  if (said === undefined) throw new UsageError("A backfill needs --from TIME, such as 2027-03-01T00:00:00Z")
  const from = Result.getOrThrow(parseInstant("--from", said))
  const to = flags.to === undefined ? undefined : Result.getOrThrow(parseInstant("--to", flags.to))
  const request = {
    from,
    ...(to === undefined ? {} : { to }),
    max: countOf("--max", flags.max, backfillMax, backfillMost),
    order: orderOf(flags.order),
    dryRun: flags["dry-run"] === true,
  }
  const { fill } = await handOver(store, await bookOfConfig())
  const answer = await run(store, fill(id, request))
  if (answer === undefined) throw notFound("schedule", id)
  const made = answer.instants.filter(({ result }) => result !== "exists").length
  const there = answer.instants.length - made
  console.error(
    `${request.dryRun ? "Would start" : "Started"} ${made} run${made === 1 ? "" : "s"}; ` +
      `${there} instant${there === 1 ? " has its" : "s have their"} run already.` +
      (answer.more ? " There are more in this range: raise --max, or go on from the last one." : ""),
  )
  printRows(flags, answer.instants, {
    at: (row: BackfilledInstant) => dateOf(row.at),
    before: (row: BackfilledInstant) => row.before ?? "never decided",
    result: (row: BackfilledInstant) => row.result,
    run: (row: BackfilledInstant) => row.runId ?? "-",
  })
  return 0
}

const orderOf = (text = "oldest"): "oldest" | "newest" => {
  if (text === "oldest" || text === "newest") return text
  throw new UsageError(`--order ${text} is none of oldest, newest`)
}

const bookOfConfig = async (): Promise<JobBook> => {
  if (findConfig() === undefined) {
    throw new UsageError("Runs are made of the config's jobs: go to the folder with uhrwerk.config.ts")
  }
  return (await checkConfig(await loadConfig(undefined))).book
}

const handOver = async (store: StoreDriver, book: JobBook) => {
  const runsOf = makeRunsOf(
    book,
    makeIds(
      () => Date.now(),
      () => (Math.random() * 2 ** 32) | 0,
    ),
  )
  const named = (await store.schedules()).map(({ trigger }) =>
    trigger.kind === "cron" ? trigger.dialect : undefined,
  )
  const dialects = await loadDialects(named)
  const parts = {
    runsOf,
    parse: makeParseTrigger(makeTriggerParser(dialects), await bookOf(store)),
  }
  return run(
    store,
    Effect.gen(function* () {
      return { operate: yield* makeOperate(parts), fill: yield* makeBackfill(parts) }
    }),
  )
}

const run = <A, E>(store: StoreDriver, effect: Effect.Effect<A, E, Store>): Promise<A> =>
  Effect.runPromise(Effect.provide(effect, contextDriver(store)))
