// `uhrwerk run ...`: look at runs, and cancel one.
import type { Run, RunState } from "../../core/domain/Run.ts"
import { runStates } from "../../core/domain/Run.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { UsageError } from "./errors.ts"
import { explainRun, runExplain } from "./explain.ts"
import { dateOf, plain, printFields, printRows, spanOf } from "./format.ts"
import { type Command, limitOf, none, notFound, only, storeCommand } from "./open.ts"

/** The commands by their words. */
export const runCommands: Readonly<Record<string, Command>> = {
  "run list": storeCommand(
    "run list [--state S] [--job J] [--limit N] [--before ID]",
    "runs, newest first",
    async (store, args, flags) => {
      none(args)
      const { state, job, before } = flags
      if (state !== undefined && !(runStates as ReadonlyArray<string>).includes(state)) {
        throw new UsageError(`--state ${state} is none of ${runStates.join(", ")}`)
      }
      const limit = limitOf(flags)
      const rows = await store.list({
        limit,
        ...(state === undefined ? {} : { state: state as RunState }),
        ...(job === undefined ? {} : { job }),
        ...(before === undefined ? {} : { before }),
      })
      printRows(flags, rows, {
        id: (run: Run) => run.id,
        job: (run: Run) => run.job,
        state: (run: Run) => run.state,
        attempt: (run: Run) => `${run.attempt}/${run.attemptMax}`,
        due: (run: Run) => dateOf(run.dueAt),
        took: took,
        note: note,
      })
      if (rows.length === limit) console.error(`More: --before ${rows[rows.length - 1]?.id}`)
    },
  ),
  "run show": storeCommand("run show ID", "one run with its attempts", async (store, args, flags) => {
    const id = only(args, "run id")
    const [run] = await store.get([id])
    if (run === undefined) throw notFound("run", id)
    const attempts = await store.attempts(id)
    const { why, next } = await explainRun(store, run, flags)
    if (flags.output !== undefined && flags.output !== "table") {
      printRows(flags, [{ ...run, attempts, why }], {})
      return
    }
    printFields({
      id: run.id,
      job: run.job,
      state: `${run.state}${run.reason === null ? "" : `: ${plain(run.reason)}`}`,
      why: plain(why, 2000),
      queue: run.queue,
      attempt: `${run.attempt} of ${run.attemptMax}`,
      created: dateOf(run.createdAt),
      due: dateOf(run.dueAt),
      started: run.startedAt === null ? "-" : `${dateOf(run.startedAt)}${late(run)}`,
      ended: run.endedAt === null ? "-" : `${dateOf(run.endedAt)} (took ${took(run)})`,
      ...(run.scheduleId === null ? {} : { schedule: `${run.scheduleId}, for ${dateOf(run.nominalAt)}` }),
      ...(run.needs.length === 0 ? {} : { needs: run.needs.join(" ") }),
      ...(run.replayOf === null ? {} : { replays: run.replayOf }),
      input: plain(run.input ?? "-", 2000),
      output: plain(run.output ?? "-", 2000),
      ...(run.error === null ? {} : { error: plain(`${run.error.name}: ${run.error.message}`, 2000) }),
    })
    for (const each of attempts) {
      const span = each.startedAt === null ? "" : ` after ${spanOf(each.endedAt - each.startedAt)}`
      console.log(
        `attempt ${each.attempt} ended ${dateOf(each.endedAt)}${span}: ${plain(`${each.error.name}: ${each.error.message}`, 500)}`,
      )
    }
    if (next !== null) console.error(plain(next))
  }),
  "run explain": runExplain,
  "run cancel": storeCommand(
    "run cancel ID [--reason TEXT]",
    "end a run that has not ended",
    async (store, args, flags) => {
      const id = only(args, "run id")
      const [answer] = await store.cancel([id], flags.reason ?? "Cancelled from the command line")
      if (answer?.result === "unknown") throw notFound("run", id)
      console.error(answer?.result === "final" ? `Run ${id} had ended already.` : `Run ${id} is cancelled.`)
      await tell(store, id)
    },
  ),
}

const tell = async (store: StoreDriver, id: string): Promise<void> => {
  const [run] = await store.get([id])
  if (run !== undefined) console.log(`${run.id} ${run.state}`)
}

const took = (run: Run): string =>
  run.startedAt === null || run.endedAt === null ? "-" : spanOf(run.endedAt - run.startedAt)

// Of the first attempt only: a later one starts after its back-off, and is not late for that.
const late = (run: Run): string =>
  run.startedAt === null || run.attempt !== 1
    ? ""
    : ` (${spanOf(Math.max(0, run.startedAt - run.dueAt))} late)`

const note = (run: Run): string =>
  run.reason ?? (run.error === null ? "" : `${run.error.name}: ${run.error.message}`)
