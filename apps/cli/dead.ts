// `uhrwerk dead ...`: dead letters, to read, to replay, to drop.
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import type { FlowView } from "../../core/ports/StoreDriver.ts"
import { countsOf, graphOf, named } from "./flowView.ts"
import { dateOf, isTable, plain, printRows } from "./format.ts"
import { type Command, limitOf, none, notFound, only, storeCommand } from "./open.ts"
import { replay } from "./runHands.ts"
import { runCommands } from "./runs.ts"

/** The commands by their words. */
export const deadCommands: Readonly<Record<string, Command>> = {
  "dead list": storeCommand(
    "dead list [--job J] [--limit N] [--before ID]",
    "dead letters, newest first",
    async (store, args, flags) => {
      none(args)
      const limit = limitOf(flags)
      const rows = await store.deadLetters({
        limit,
        ...(flags.job === undefined ? {} : { job: flags.job }),
        ...(flags.before === undefined ? {} : { before: flags.before }),
      })
      printRows(flags, rows, {
        id: (letter: DeadLetter) => letter.runId,
        job: (letter: DeadLetter) => letter.job,
        died: (letter: DeadLetter) => dateOf(letter.diedAt),
        attempts: (letter: DeadLetter) => String(letter.attempt),
        error: (letter: DeadLetter) => `${letter.error.name}: ${letter.error.message}`,
      })
      const flow = rows.find(({ error }) => error.name === "StepsFailed")
      if (flow !== undefined && isTable(flags))
        console.error(
          `Of a flow run, only what failed runs again with: uhrwerk flow rerun ${flow.runId} --from-failed`,
        )
      if (rows.length === limit) console.error(`More: --before ${rows[rows.length - 1]?.runId}`)
    },
  ),
  "dead show": {
    ...(runCommands["run show"] as Command),
    usage: "dead show ID",
    about: "a dead run with its attempts",
  },
  "dead replay": storeCommand(
    "dead replay ID",
    "run a dead run's work again, as a new run",
    async (store, args) => {
      const id = only(args, "dead letter's id")
      const answer = await replay(store, id)
      if (answer === undefined) throw notFound("dead letter", id)
      const flow = answer.result === "created" ? await store.flowOf(id) : null
      if (flow?.expansion.kind === "flow") console.error(plain(replayText(flow), 1000))
      console.log(answer.newRunId)
    },
  ),
  "dead drop": storeCommand("dead drop ID", "remove a dead letter for good", async (store, args) => {
    const id = only(args, "dead letter's id")
    if ((await store.drop([id])) === 0) throw notFound("dead letter", id)
    console.error(`The letter of run ${id} is dropped.`)
  }),
}

/** What the replay of a flow run means for its steps. */
const replayText = (flow: FlowView): string => {
  const { steps, expansion } = flow
  const { ids } = graphOf(expansion)
  const failed = steps.flatMap(({ state }, step) => (state === "failed" ? [quote(ids[step])] : []))
  const { succeeded = 0 } = countsOf(steps)
  const kept =
    succeeded === 0
      ? ""
      : `, also the ${succeeded} that had succeeded. What keeps their outputs, in place of a replay: uhrwerk flow rerun RUN --from-failed`
  return `${failed.length === 0 ? "No step" : named(failed)} failed; all ${steps.length} steps run again${kept}`
}
