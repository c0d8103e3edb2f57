// `uhrwerk flow rerun | cancel | mark`: what people do to a flow run by hand, on the store itself, beside an engine
// that may be at work on it: each is one step of the store, and an engine notices within a second.
import * as Result from "effect/Result"
import { makeIds } from "../../core/domain/Ids.ts"
import { encodePayload } from "../../core/domain/Payload.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import { isFinal } from "../../core/domain/Run.ts"
import { resetOf } from "../../core/flow/Rerun.ts"
import type { FlowView, RerunFrom, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { NotNow, UsageError } from "./errors.ts"
import { findBegun, findFlow, graphOf, placeOf, stepName } from "./flowView.ts"
import { plain, printAnswer } from "./format.ts"
import { type Command, type Flags, jsonOf, notFound, only, storeCommand } from "./open.ts"

/** The commands by their words. */
export const flowHands: Readonly<Record<string, Command>> = {
  "flow rerun": storeCommand(
    "flow rerun RUN --from-failed | --skipped | --from STEP...",
    "run some steps and all behind them again, as a new run; the others keep their output",
    async (store, args, flags) => {
      const id = only(args, "flow run's id")
      const from = fromOf(flags)
      const view = await findBegun(store, id)
      if (view.run.parentId !== null) throw isPart(await store.flowOf(view.run.parentId), view)
      const graph = graphOf(view.expansion)
      const places = typeof from === "string" ? from : from.map((step) => placeOf(id, graph, step))
      const { result, runId } = await store.rerunFlow(id, newId(), from)
      if (result === "unknown") throw notFound("flow run", id)
      if (result === "running")
        throw new NotNow(
          `Run ${id} has not ended. Wait for its end, or cancel it: uhrwerk flow cancel ${id} --reason TEXT`,
        )
      if (result === "nothing")
        throw new NotNow(
          `No step of run ${id} would start anew: none ${from === "skipped" ? "was skipped" : "failed"}. ` +
            `Name the steps to begin with: uhrwerk flow rerun ${id} --from STEP`,
        )
      const states = view.steps.map(({ state }) => state)
      const reset = resetOf(graph, states, places).length
      const kept = view.steps.length - reset
      console.error(
        result === "exists"
          ? `The work of run ${id} is done again already, by run ${runId}. See: uhrwerk flow show ${runId}`
          : `${reset} of ${view.steps.length} steps start anew${kept === 0 ? "" : `, ${kept} keep${kept === 1 ? "s" : ""} state and output`}. ` +
              (await whatNext(store, runId ?? "")),
      )
      printAnswer(flags, { runId, result, reset: result === "created" ? reset : 0 }, runId ?? "")
    },
  ),
  "flow cancel": storeCommand(
    "flow cancel RUN [--reason TEXT]",
    "end a flow run; its running steps are told, the others do not begin",
    async (store, args, flags) => {
      const id = only(args, "flow run's id")
      const { run } = await findFlow(store, id)
      const reason = reasonOf(flags) ?? "Cancelled from the command line"
      const [answer] = await store.cancel([id], reason)
      if (answer === undefined || answer.result === "unknown") throw notFound("flow run", id)
      const [after = run] = await store.get([id])
      console.error(
        answer.result === "final"
          ? `Run ${id} had ended already.`
          : `Run ${id} is cancelled; running steps are told within a second. Run the rest later: uhrwerk flow rerun ${id} --from-failed`,
      )
      printAnswer(flags, { runId: id, result: answer.result, state: after.state }, `${id} ${after.state}`)
    },
  ),
  "flow mark": storeCommand(
    "flow mark RUN STEP succeeded|skipped --reason TEXT [--step-output JSON]",
    "end a step that has not ended; what needs it goes on",
    async (store, args, flags) => {
      const [id, step, end, ...more] = args
      if (id === undefined || step === undefined || end === undefined || more.length > 0)
        throw new UsageError("This command takes a flow run's id, a step, and succeeded or skipped")
      if (end !== "succeeded" && end !== "skipped")
        throw new UsageError(`A step is marked as succeeded or skipped, and "${end}" is neither`)
      const reason = reasonOf(flags)
      if (reason === undefined) throw new UsageError("Say why, for those who look later: --reason TEXT")
      if (end === "skipped" && flags["step-output"] !== undefined)
        throw new UsageError("A step that is skipped has no output: leave out --step-output")
      const value = jsonOf("--step-output", flags["step-output"])
      const output = Result.getOrThrow(encodePayload("--step-output", value))
      const view = await findBegun(store, id)
      const place = placeOf(id, graphOf(view.expansion), step)
      const answer = await store.markStep({ runId: id, step, end, reason, output })
      if (answer === "unknown") throw notFound("flow run", id)
      if (answer === "ended") throw hasEnded(view, place, step)
      const [after] = await store.get([id])
      const name = plain(upperFirst(stepName(view.expansion, place)))
      console.error(`${name} counts as ${end}; what needs it goes on. See: uhrwerk flow show ${id}`)
      printAnswer(flags, { runId: id, step, end, state: after?.state ?? null }, `${plain(step)} ${end}`)
    },
  ),
}

/** A new id for a run. */
export const newId = makeIds(
  () => Date.now(),
  () => crypto.getRandomValues(new Int32Array(1))[0] ?? 0,
)

/** When a new run begins, as far as it is known. */
export const whatNext = async (store: StoreDriver, runId: string): Promise<string> => {
  const now = await store.now()
  const isRunning = (await store.nodes()).some(({ expiresAt }) => expiresAt > now)
  return isRunning
    ? `An engine on this store begins within a second. See: uhrwerk flow show ${runId}`
    : "No engine is running on this store; start one: uhrwerk dev"
}

const fromOf = (flags: Flags): RerunFrom => {
  const said: ReadonlyArray<RerunFrom> = [
    ...(flags["from-failed"] === true ? (["failed"] as const) : []),
    ...(flags.skipped === true ? (["skipped"] as const) : []),
    ...(flags.from === undefined ? [] : [flags.from]),
  ]
  const [from] = said
  if (from === undefined || said.length > 1)
    throw new UsageError("Say where it begins, one of: --from-failed, --skipped, --from STEP (repeatable)")
  return from
}

const reasonMax = 512

const reasonOf = ({ reason }: Flags): string | undefined => {
  if (reason === undefined || (reason !== "" && reason.length <= reasonMax)) return reason
  throw new UsageError(`--reason has ${reason.length} characters; give 1 to ${reasonMax}`)
}

const isPart = (parent: FlowView | null, { run }: FlowView): NotNow => {
  const step =
    parent?.expansion.kind === "flow" ? parent.expansion.definition.steps[run.step ?? -1]?.id : undefined
  return new NotNow(
    `Run ${run.id} is a part of flow run ${run.parentId}, which is the one to re-run: ` +
      `uhrwerk flow rerun ${run.parentId} ${step === undefined ? "--from-failed" : `--from ${quoteArg(step)}`}`,
  )
}

const hasEnded = ({ run, steps }: FlowView, place: number, step: string): NotNow =>
  isFinal(run.state)
    ? new NotNow(
        `Run ${run.id} has ended. Run it again from that step: uhrwerk flow rerun ${run.id} --from ${quoteArg(step)}`,
      )
    : new NotNow(
        `Step ${quote(step)} has ended as ${steps[place]?.state}. When the flow run has ended too, it can be run again: uhrwerk flow rerun ${run.id} --from ${quoteArg(step)}`,
      )

// As a shell takes it for one word.
const quoteArg = (text: string): string =>
  /^[\w.:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
