// `uhrwerk run logs | wait | retry | replay`: what a run said, how it ends, and its work once more, on the store itself,
// beside an engine that may be at work on it.
import * as Result from "effect/Result"
import { isFinal, type Run } from "../../core/domain/Run.ts"
import { parseSpan } from "../../core/domain/TimeSpan.ts"
import { logKind, logLineOf, type LogLine, logPrefix } from "../../core/observe/RunRecords.ts"
import type { Replayed, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { exitCodes, NotNow, UsageError } from "./errors.ts"
import { newId } from "./flowHands.ts"
import { dateOf, isTable, jsonOf, plain, printAnswer, timeOf } from "./format.ts"
import { type Command, countOf, type Flags, notFound, only, storeCommand } from "./open.ts"

const lookEveryMillis = 500
const pageMax = 1_000

/** The commands by their words. */
export const runHands: Readonly<Record<string, Command>> = {
  "run logs": storeCommand(
    "run logs ID [--follow] [--attempt N] [--limit N]",
    "what a run said, under uhrwerk dev or serve; --limit: only the last lines; --follow: until its end",
    (store, args, flags) => printLogs(store, only(args, "run id"), flags),
  ),
  "run wait": storeCommand(
    "run wait ID [--timeout SPAN]",
    "wait for the end of a run; exit code 10 when it did not succeed, 7 when the time is over before",
    async (store, args, flags) => tellEnd(await waitForEnd(store, only(args, "run id"), flags), flags),
  ),
  "run retry": storeCommand(
    "run retry ID",
    "run a dead run's work again, as a new run",
    async (store, args) => {
      const id = only(args, "run id")
      const run = await runOf(store, id)
      if (run.state === "retrying")
        throw new NotNow(
          `Run ${id} starts its next attempt by itself, ${dateOf(run.dueAt)}; a store cannot bring that forward`,
        )
      await replayRun(store, run)
    },
  ),
  "run replay": storeCommand("run replay ID", "the same as dead replay", async (store, args) =>
    replayRun(store, await runOf(store, only(args, "run id"))),
  ),
}

const runOf = async (store: StoreDriver, id: string): Promise<Run> => {
  const [run] = await store.get([id])
  if (run === undefined) throw notFound("run", id)
  return run
}

/** Makes a new run of a dead one, and prints its id; throws `NotNow` where it has no letter. */
const replayRun = async (store: StoreDriver, { id, state, parentId }: Run): Promise<void> => {
  const answer = await replay(store, id)
  if (answer === undefined)
    throw new NotNow(
      parentId !== null
        ? `Run ${id} is a part of flow run ${parentId}, which is the one to run again: uhrwerk flow rerun ${parentId} --from-failed`
        : state === "dead"
          ? `The dead letter of run ${id} was dropped. Send its input as a new run`
          : `Run ${id} is ${state}, and only a dead run is run again`,
    )
  console.log(answer.newRunId)
}

/** Makes a new run of a dead one, and says what became of it; `undefined` without a letter. */
export const replay = async (
  store: StoreDriver,
  id: string,
): Promise<(Replayed & { readonly newRunId: string }) | undefined> => {
  const [answer] = await store.replay([id], [newId()])
  if (answer === undefined || answer.newRunId === null) return undefined
  console.error(
    answer.result === "exists"
      ? `Run ${id} was replayed before, as run ${answer.newRunId}.`
      : `Run ${id} is replayed as run ${answer.newRunId}; an engine on this store starts it within a second.`,
  )
  return { ...answer, newRunId: answer.newRunId }
}

/** The run as it is at its end, or when `--timeout` is over. */
export const waitForEnd = async (store: StoreDriver, id: string, flags: Flags): Promise<Run> => {
  const millis =
    flags.timeout === undefined ? Infinity : Result.getOrThrow(parseSpan("--timeout", flags.timeout))
  const end = performance.now() + millis
  for (;;) {
    const run = await runOf(store, id)
    const left = end - performance.now()
    if (isFinal(run.state) || left <= 0) return run
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, lookEveryMillis)))
  }
}

/** Prints how it ended; answers the exit code. */
export const tellEnd = (run: Run, flags: Flags): number => {
  printAnswer(flags, run, `${run.id} ${run.state}`)
  if (run.state === "succeeded") return exitCodes.ok
  if (!isFinal(run.state)) {
    console.error(`The time is over, and run ${run.id} is ${run.state}. Why: uhrwerk run explain ${run.id}`)
    return exitCodes["time-out"]
  }
  const why = run.error === null ? run.reason : `${run.error.name}: ${run.error.message}`
  console.error(plain(`Run ${run.id} did not succeed: ${why ?? "no reason is known"}`, 2000))
  return exitCodes["run failed"]
}

/** Prints lines, oldest first; with `--follow` until the run has ended. */
export const printLogs = async (store: StoreDriver, id: string, flags: Flags): Promise<void> => {
  const { attempt, limit, follow = false } = flags
  if (attempt !== undefined && !/^\d{1,4}$/.test(attempt))
    throw new UsageError(`--attempt ${attempt} is not the number of an attempt`)
  const prefix = logPrefix(id, attempt === undefined ? undefined : Number(attempt))
  const common = { kind: logKind, prefix }
  let last: string | undefined
  let isEnded = isFinal((await runOf(store, id)).state)
  if (limit !== undefined) {
    const count = countOf("--limit", limit, pageMax, pageMax)
    const rows = [...(await store.records({ ...common, order: "descending", limit: count }))].reverse()
    for (const row of rows) printLine(logLineOf(row), flags)
    last = rows.at(-1)?.id
  }
  if (limit === undefined || follow)
    for (;;) {
      const after = last === undefined ? {} : { after: last }
      const rows = await store.records({ ...common, ...after, order: "ascending", limit: pageMax })
      for (const row of rows) printLine(logLineOf(row), flags)
      last = rows.at(-1)?.id ?? last
      if (rows.length === pageMax) continue
      if (isEnded || !follow) break
      // The last lines may come a moment after the end: one more look is behind the look at the run.
      await new Promise((resolve) => setTimeout(resolve, lookEveryMillis))
      isEnded = isFinal((await runOf(store, id)).state)
    }
  if (last === undefined && isTable(flags))
    console.error("Nothing is kept of it: it said nothing, or neither uhrwerk dev nor serve ran it.")
}

const printLine = (line: LogLine, { output = "table" }: Flags): void => {
  if (output === "table")
    return console.log(`${timeOf(line.at)}  ${line.attempt}  ${plain(line.line, 5_000)}`)
  if (output !== "ndjson") throw new UsageError(`--output ${output} is none of table, ndjson`)
  console.log(jsonOf(line))
}
