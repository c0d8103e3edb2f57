// `uhrwerk run ...`: look at runs, and cancel one; the rest is in runHands.ts.
import type { Run, RunState } from "../../core/domain/Run.ts"
import { runStates } from "../../core/domain/Run.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import type { FlowView, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { bulk } from "./bulk.ts"
import { exitCodes, UsageError } from "./errors.ts"
import { explainRun, runExplain } from "./explain.ts"
import { countsOf, countsText, readFlow, type StepRow, stepName } from "./flowView.ts"
import { dateOf, plain, printFields, printRows, spanOf } from "./format.ts"
import { type Command, limitOf, none, notFound, only, storeCommand } from "./open.ts"
import { runHands } from "./runHands.ts"

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
    const view = await store.flowOf(id)
    const flow = view === null ? null : await readFlow(store, view)
    if (flags.output !== undefined && flags.output !== "table") {
      const steps = flow === null ? {} : { steps: countsOf(flow.rows) }
      printRows(flags, [{ ...run, attempts, why, ...steps }], {})
      return
    }
    printFields({
      id: run.id,
      job: run.job,
      state: `${run.state}${run.reason === null ? "" : `: ${plain(run.reason)}`}`,
      why: plain(why, 2000),
      ...(run.parentId === null ? {} : { "part of": await partText(store, run) }),
      ...(flow === null ? {} : { [whatOf(flow.view)]: countsText(flow.rows) }),
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
    if (flow !== null) printFailed(flow.rows)
    if (flow !== null) console.error(`Its ${whatOf(flow.view)}: uhrwerk flow show ${id}`)
    if (next !== null) console.error(plain(next))
  }),
  "run explain": runExplain,
  ...runHands,
  "run cancel": storeCommand(
    "run cancel ID | --where state=S,job=J,queue=Q [--reason TEXT] [--dry-run] [--yes]",
    "end a run that has not ended, or all of a filter",
    async (store, args, flags) => {
      if (flags.where !== undefined) {
        none(args)
        return bulk(store, "cancelRuns", flags)
      }
      const id = only(args, "run id")
      const [answer] = await store.cancel([id], flags.reason ?? "Cancelled from the command line")
      if (answer?.result === "unknown") throw notFound("run", id)
      console.error(answer?.result === "final" ? `Run ${id} had ended already.` : `Run ${id} is cancelled.`)
      await tell(store, id)
      return exitCodes.ok
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

const whatOf = ({ expansion }: FlowView): string => (expansion.kind === "flow" ? "steps" : "items")

const partText = async (store: StoreDriver, { parentId, step }: Run): Promise<string> => {
  const parent = await store.flowOf(parentId ?? "")
  return parent === null || step === null
    ? `run ${parentId}`
    : `run ${parentId}, as its ${stepName(parent.expansion, step)}`
}

const failedShown = 5

/** Which steps failed, and why. */
const printFailed = (rows: ReadonlyArray<StepRow>): void => {
  const failed = rows.filter(({ state }) => state === "failed")
  for (const { id, reason, runId } of failed.slice(0, failedShown))
    console.log(plain(`${quote(id)} failed: ${reason ?? "no reason is known"} (run ${runId ?? "-"})`, 500))
  if (failed.length > failedShown) console.log(`+${failed.length - failedShown} more failed`)
}

const note = (run: Run): string => (run.state === "blocked" ? waitText(run) : endText(run))

// Nothing but the end of its steps keeps a run waiting that needs no others.
const waitText = ({ waitingFor, needs }: Run): string =>
  `waits for ${waitingFor} ${needs.length > 0 ? `of ${needs.length} runs` : waitingFor === 1 ? "step" : "steps"}`

const endText = (run: Run): string =>
  run.reason ?? (run.error === null ? "" : `${run.error.name}: ${run.error.message}`)
