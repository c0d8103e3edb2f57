// `uhrwerk dead ...`: dead letters, to read, to replay, to drop.
import { once } from "node:events"
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import type { FlowView } from "../../core/ports/StoreDriver.ts"
import { exportLetters, groupLetters, type LetterGroup } from "../bulk/Letters.ts"
import { bulk } from "./bulk.ts"
import { exitCodes } from "./errors.ts"
import { countsOf, graphOf, named } from "./flowView.ts"
import { dateOf, isTable, jsonOf, plain, printRows } from "./format.ts"
import { type Command, type Flags, limitOf, none, notFound, only, storeCommand } from "./open.ts"
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
    "dead replay ID | --where job=J,error=E [--rate 50/s] [--dry-run]",
    "run a dead run's work again, as a new run, or that of all of a filter",
    async (store, args, flags) => {
      if (flags.where !== undefined) {
        none(args)
        return bulk(store, "replayDeadLetters", flags)
      }
      const id = only(args, "dead letter's id")
      const answer = await replay(store, id)
      if (answer === undefined) throw notFound("dead letter", id)
      const flow = answer.result === "created" ? await store.flowOf(id) : null
      if (flow?.expansion.kind === "flow") console.error(plain(replayText(flow), 1000))
      console.log(answer.newRunId)
      return exitCodes.ok
    },
  ),
  "dead drop": storeCommand(
    "dead drop ID | --where job=J,error=E [--rate 50/s] [--dry-run] [--yes]",
    "remove a dead letter for good, or all of a filter",
    async (store, args, flags) => {
      if (flags.where !== undefined) {
        none(args)
        return bulk(store, "dropDeadLetters", flags)
      }
      const id = only(args, "dead letter's id")
      if ((await store.drop([id])) === 0) throw notFound("dead letter", id)
      console.error(`The letter of run ${id} is dropped.`)
      return exitCodes.ok
    },
  ),
  "dead groups": storeCommand(
    "dead groups [--job J] [--limit N]",
    "dead letters by their error, the most frequent first",
    async (store, args, flags) => {
      none(args)
      const { groups, letters, exact } = await groupLetters(store, meant(flags))
      const shown = groups.slice(0, limitOf(flags))
      printRows(flags, shown, {
        group: ({ fingerprint }: LetterGroup) => fingerprint,
        count: ({ count }: LetterGroup) => String(count),
        first: ({ firstAt }: LetterGroup) => dateOf(firstAt),
        last: ({ lastAt }: LetterGroup) => dateOf(lastAt),
        jobs: ({ jobs }: LetterGroup) => jobs.join(" "),
        error: ({ pattern }: LetterGroup) => pattern,
      })
      if (shown.length < groups.length) console.error(`+${groups.length - shown.length} more: --limit N`)
      if (!exact) console.error(`Of the newest ${letters} dead letters; there are older ones beside these.`)
      const [first] = shown
      if (first !== undefined && isTable(flags))
        console.error(`Run those of one again: uhrwerk dead replay --where error=${first.fingerprint}`)
    },
  ),
  "dead export": storeCommand(
    "dead export [--job J]",
    "dead letters with input and attempts, a line of JSON each",
    async (store, args, flags) => {
      none(args)
      for await (const letter of exportLetters(store, meant(flags))) {
        console.log(jsonOf(letter))
        if (process.stdout.writableNeedDrain) await once(process.stdout, "drain")
      }
    },
  ),
}

const meant = ({ job }: Flags) => ({
  filter: job === undefined ? {} : { job },
  namespace: null,
  frozenAt: Infinity,
})

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
