// Why a run waits, or how it ended, in one sentence that a person reads, and what to do about it where something can
// be done. Beside the stages of `run/`: it decides nothing, and reads what they left in the store. Pure: all that
// it looks at is handed in, and so is how times are written.
import { quote } from "../domain/TimeSpan.ts"
import { isFinal, type Run } from "../domain/Run.ts"
import { lossMax } from "../domain/Transition.ts"
import type { FlowView, NodeRow } from "../ports/StoreDriver.ts"
import type { PausedQueue } from "./PausedQueues.ts"

/** What is known around a run. */
export interface RunFacts {
  readonly run: Run
  /** The runs that it needs, as far as they are still there. */
  readonly needs: ReadonlyArray<Run>
  /** Its steps, when it expanded into some. */
  readonly flow?: FlowView | null
  /** The run whose step it is, with all its steps. */
  readonly parent?: FlowView | null
  readonly nodes: ReadonlyArray<NodeRow>
  /** All runs of the store in these states. */
  readonly readyCount: number
  readonly runningCount: number
  /** Jobs of the engines; `null`: not known here. */
  readonly jobs: ReadonlySet<string> | null
  /** Slots of one engine; `null`: not known here. */
  readonly slots: number | null
  /**
   * Of a job that only workers carry out: why none takes the run, in words that go on after a semicolon; `null`: one that
   * fits has room. Absent: an engine's own process carries it out, or it is not known here.
   */
  readonly workers?: Explanation | null
  /** Its queue's pause; absent or `null`: there is none. */
  readonly paused?: PausedQueue | null
  /** The store's clock. */
  readonly now: number
}

/** How times look: an instant with its zone, a span such as "3 min". */
export interface TimeWords {
  readonly at: (millis: number) => string
  readonly span: (millis: number) => string
}

/** The answer. */
export interface Explanation {
  /** Without a full stop. */
  readonly why: string
  /** What to do next: a command, or a sentence; `null` where all goes its way. */
  readonly next: string | null
}

/** Runs that are named one by one. */
const namedMax = 5

/** How long an engine takes to notice work at the latest, with the default poll and a margin. */
const noticeMillis = 3000

/** Explains the state of a run. */
export const explain = (facts: RunFacts, words: TimeWords): Explanation => {
  const { run, parent } = facts
  const { why, next } = explainState(facts, words)
  if (run.step === null || !parent) return { why, next }
  // What a step comes to is decided by its flow run: it has no letter of its own, and is not replayed alone.
  const whole = `The whole: uhrwerk run explain ${parent.run.id}`
  return {
    why: `${partOf(parent, run.step)} of run "${parent.run.job}": ${lowerFirst(why)}`,
    next: run.state === "dead" ? whole : (next ?? whole),
  }
}

const explainState = (facts: RunFacts, words: TimeWords): Explanation => {
  const { run } = facts
  switch (run.state) {
    case "blocked":
      return blocked(facts, words)
    case "scheduled":
    case "retrying":
      return waiting(facts, words)
    case "ready":
      return ready(facts, words)
    case "running":
      return running(facts, words)
    case "succeeded":
      return plainly(`Succeeded ${ended(run, words)}, at attempt ${attemptOf(run)}${took(run, words)}`)
    case "dead":
      return dead(facts, words)
    case "skipped":
      return skipped(facts, words)
    case "cancelled":
      return plainly(`Cancelled ${ended(run, words)}: ${run.reason ?? "no reason was given"}`)
    case "expired": {
      const by = run.expiresAt === null ? "" : `: it was to start before ${words.at(run.expiresAt)}`
      return plainly(`Expired ${ended(run, words)} without a start${by}`)
    }
  }
}

const blocked = (facts: RunFacts, words: TimeWords): Explanation => {
  const { run, needs, flow } = facts
  if (flow) return waitsForSteps(flow)
  const open = needs.filter(({ state }) => state !== "succeeded")
  const stateOf = (need: Run): string =>
    need.state === "retrying" || need.state === "scheduled"
      ? `${need.state} for ${words.at(need.dueAt)}`
      : need.state
  const names = named(open.map((need) => `"${need.job}" (${stateOf(need)})`))
  const [first] = open
  return {
    why: `Waits for ${run.waitingFor} of the ${run.needs.length} runs that it needs${names === "" ? "" : `: ${names}`}`,
    next: first === undefined ? null : `Why that one waits: uhrwerk run explain ${first.id}`,
  }
}

const waitsForSteps = ({ run, expansion, steps }: FlowView): Explanation => {
  const open = steps.flatMap(({ state, runId }, step) =>
    state === "released" || state === "blocked" ? [{ step, state, runId }] : [],
  )
  // What is under way says why the rest waits.
  const underWay = open.filter(({ state }) => state === "released")
  const what = expansion.kind === "flow" ? "steps" : "items"
  const names = named(underWay.map(({ step }) => stepName(expansion, step)))
  const first = underWay.find(({ runId }) => runId !== null)
  return {
    why: `Waits for ${open.length} of ${steps.length} ${what}${names === "" ? "" : `; under way: ${names}`}, at attempt ${attemptOf(run)}`,
    next: first === undefined ? null : `Why that one waits: uhrwerk run explain ${first.runId}`,
  }
}

const stepName = (expansion: FlowView["expansion"], step: number): string =>
  expansion.kind === "flow" ? quote(expansion.definition.steps[step]?.id ?? String(step)) : `item ${step}`

const partOf = ({ expansion }: FlowView, step: number): string =>
  expansion.kind === "flow" ? `Step ${stepName(expansion, step)}` : `Item ${step}`

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

const waiting = (facts: RunFacts, words: TimeWords): Explanation => {
  const { run, now } = facts
  const left = run.dueAt - now
  const time = `${words.at(run.dueAt)}${left > 0 ? `, in ${words.span(left)}` : ""}`
  const why =
    run.state === "retrying"
      ? `Attempt ${attemptOf(run)} failed${errorOf(run)}; the next one is due at ${time}`
      : run.startedAt === null
        ? `Waits for its time: due at ${time}`
        : `Its handler snoozed it at attempt ${run.attempt + 1} of ${run.attemptMax}: due again at ${time}`
  if (left > 0) return plainly(why)
  const gate = gateOf(facts, words, -left)
  return { ...gate, why: `${why}, which was ${words.span(-left)} ago; ${gate.why}` }
}

const ready = (facts: RunFacts, words: TimeWords): Explanation => {
  const since = Math.max(0, facts.now - facts.run.dueAt)
  const gate = gateOf(facts, words, since)
  return { ...gate, why: `Ready for ${words.span(since)}; ${gate.why}` }
}

/** What keeps a run from starting whose time has come. */
const gateOf = (facts: RunFacts, words: TimeWords, since: number): Explanation => {
  const { run, nodes, jobs, slots, runningCount, readyCount, now } = facts
  if (run.expiresAt !== null && run.expiresAt <= now) {
    return plainly("its time to start has passed, and an engine that looks ends it as expired")
  }
  if (facts.paused) {
    const note = facts.paused.note === null ? "" : ` (${facts.paused.note})`
    return {
      why: `queue ${quote(run.queue)} is paused since ${words.at(facts.paused.at)}${note}`,
      next: `Let it go on: uhrwerk queue resume ${run.queue}`,
    }
  }
  const live = nodes.filter(({ expiresAt }) => expiresAt > now)
  const last = Math.max(...nodes.map(({ expiresAt }) => expiresAt))
  if (live.length === 0) {
    const when = nodes.length === 0 ? "" : `: the last lease ended ${words.span(now - last)} ago`
    return { why: `no engine is running on this store${when}`, next: "Start one: uhrwerk dev" }
  }
  if (jobs !== null && !jobs.has(run.job)) {
    return {
      why: `no job named "${run.job}" is in the config, so no engine takes it`,
      next: `Add the job, or end the run: uhrwerk run cancel ${run.id}`,
    }
  }
  if (facts.workers !== undefined) {
    return facts.workers ?? plainly("a worker that fits has room, and is given it when its engine looks")
  }
  if (since < noticeMillis) return plainly("an engine is running and starts it when it has a free slot")
  const all = slots === null ? null : slots * live.length
  if (all !== null && runningCount >= all) {
    const taken = all === 1 ? "the only slot is" : `all ${all} slots are`
    return {
      why: `${taken} taken, and ${readyCount} ${readyCount === 1 ? "run is" : "runs are"} ready`,
      next: "What runs: uhrwerk run list --state running",
    }
  }
  return {
    why: `an engine is running, and has no free slot for it (${runningCount} running, ${readyCount} ready) or no job "${run.job}"`,
    next: "What runs: uhrwerk run list --state running",
  }
}

const running = ({ run, nodes, now }: RunFacts, words: TimeWords): Explanation => {
  const since = run.startedAt ?? now
  const verb = run.startAcknowledged ? "Runs" : "Is on its way to a worker"
  const why = `${verb} since ${words.at(since)}, for ${words.span(Math.max(0, now - since))}, on node "${run.node ?? "?"}", at attempt ${attemptOf(run)}`
  const node = nodes.find(({ id }) => id === run.node)
  if (node !== undefined && node.expiresAt > now) return plainly(why)
  const gone =
    node === undefined ? "that node is gone" : `its lease ended ${words.span(now - node.expiresAt)} ago`
  if (nodes.some(({ expiresAt }) => expiresAt > now)) {
    return plainly(`${why}; but ${gone}, and another engine takes the run back`)
  }
  return {
    why: `${why}; but ${gone}, and no engine is running that could take it back`,
    next: "Start one: uhrwerk dev",
  }
}

const dead = ({ run, flow }: RunFacts, words: TimeWords): Explanation => {
  const how =
    run.losses > lossMax
      ? `it was lost ${run.losses} times before its start was acknowledged`
      : run.attempt >= run.attemptMax
        ? run.attemptMax === 1
          ? "its only attempt failed"
          : `all ${run.attemptMax} attempts failed, the last one`
        : `attempt ${attemptOf(run)} failed for good`
  const joined = how.endsWith("the last one") ? errorOf(run).replace(/^: /, " with ") : errorOf(run)
  const why = `Dead ${ended(run, words)}, because ${how}${joined}`
  if (flow?.expansion.kind === "flow")
    return {
      why,
      next: `Run what failed again when the cause is mended: uhrwerk flow rerun ${run.id} --from-failed`,
    }
  return {
    why,
    next: `Run it again when the cause is mended: uhrwerk dead replay ${run.id}`,
  }
}

const skipped = ({ run, needs }: RunFacts, words: TimeWords): Explanation => {
  const failed = needs.find(({ state }) => isFinal(state) && state !== "succeeded")
  return {
    why: `Skipped ${ended(run, words)}: ${run.reason ?? "a run that it needs did not succeed"}`,
    next: failed === undefined ? null : `Why that one: uhrwerk run explain ${failed.id}`,
  }
}

const plainly = (why: string): Explanation => ({ why, next: null })

const attemptOf = (run: Run): string => `${run.attempt} of ${run.attemptMax}`

const ended = (run: Run, words: TimeWords): string => `at ${words.at(run.endedAt ?? run.dueAt)}`

const took = (run: Run, words: TimeWords): string =>
  run.startedAt === null || run.endedAt === null ? "" : `, in ${words.span(run.endedAt - run.startedAt)}`

const errorOf = ({ error }: Run): string => (error === null ? "" : `: ${error.name}: ${error.message}`)

const named = (items: ReadonlyArray<string>): string => {
  const more = items.length - namedMax
  return `${items.slice(0, namedMax).join(", ")}${more > 0 ? ` and ${more} more` : ""}`
}
