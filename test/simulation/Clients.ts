// What people and programs ask of the engines: runs of every kind, cancels, replays, pauses, flows run again. Each goes
// to a node that is up; what is acknowledged is written down, and has to be there ever after (I1).
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { isFinal } from "../../core/domain/Run.ts"
import type { EngineService } from "../../core/engine/Engine.ts"
import type { Enqueued } from "../../core/ports/StoreDriver.ts"
import type { RunRequest } from "../../core/run/Enqueue.ts"
import { makeIds } from "../../core/domain/Ids.ts"
import { flowJobs, nobodysJob, placedJobs, plainJobs } from "./Handlers.ts"
import type { RequestChecks } from "./checks/requests.ts"
import type { Ground } from "./Ground.ts"
import type { Swarm } from "./Swarm.ts"
import type { Watch } from "./Watch.ts"
import type { Lane, World } from "./World.ts"

/** A node as its users see it. */
export interface Served {
  readonly lane: Lane
  readonly engine: EngineService
}

/** Asks for things, and remembers the answers. */
export interface Clients {
  /** One request for work. */
  readonly request: (node: Served) => void
  /** One thing that a person does by hand. */
  readonly operate: (node: Served) => void
  /** What nobody may take would stand for ever: it is called off. */
  readonly callOff: (node: Served) => void
  /** At the end: what was acknowledged is there. */
  readonly check: () => void
}

/** Clients of the engines over this store. */
export const makeClients = (
  world: World,
  swarm: Swarm,
  ground: Ground,
  watch: Watch,
  requests: RequestChecks,
): Clients => {
  const { random } = world
  const { table } = ground
  const ids = makeIds(
    () => world.now,
    () => (random.next() * 2 ** 32) | 0,
  )
  /** Ids that were asked for, in order. */
  const asked: Array<string> = []
  const requested = new Map<string, RunRequest>()
  let inputs = 0
  const acknowledged = new Map<string, Enqueued>()
  const cancelled = new Set<string>()
  const recent = (): string | undefined => asked[asked.length - 1 - random.int(0, Math.min(asked.length, 30))]

  const ask = <A, E>(
    { lane }: Served,
    what: () => string,
    effect: Effect.Effect<A, E>,
    answered: (answer: A) => void = () => {},
    failed: (cause: Cause.Cause<E>) => void = () => {},
  ): void => {
    watch.tell(lane.name, () => `asked to ${what()}`)
    Effect.runForkWith(lane.context)(effect).addObserver((exit) => {
      if (Exit.isSuccess(exit)) answered(exit.value)
      else failed(exit.cause)
      watch.tell(lane.name, () => `${Exit.isSuccess(exit) ? "did" : "failed to"} ${what()}`)
    })
  }

  const newRequest = (): RunRequest => {
    // A program that got no answer asks again, with the same id.
    const known = random.chance(0.1) ? requested.get(recent() ?? "") : undefined
    if (known !== undefined) return known
    const isPlaced = swarm.workers > 0 && random.chance(0.25)
    const job = random.pick(isPlaced ? placedJobs : swarm.flows && random.chance(0.3) ? flowJobs : plainJobs)
    const isChain = job === "clean" || job === "report"
    const id = ids()
    const request: RunRequest = {
      job,
      // No two have the same: what is found later can be told apart.
      input: isChain || isPlaced || random.chance(0.4) ? inputOf(++inputs) : null,
      ...(isChain ? {} : { id }),
      ...(!isChain && random.chance(0.2) ? { key: `k${random.int(0, 4)}` } : {}),
      ...(random.chance(0.3) ? { delayMillis: random.int(0, 8000) } : {}),
      ...(random.chance(0.1) ? { startWithinMillis: random.int(0, 3000) } : {}),
      priority: random.int(0, 2),
    }
    if (!isChain) {
      asked.push(id)
      requested.set(id, request)
    }
    return request
  }

  const acknowledge = (answer: Enqueued): void => {
    acknowledged.set(answer.id, answer)
    if (!table.entries.has(answer.id)) watch.violated("I1", `${answer.id} was acknowledged and is not there`)
  }

  const cancel = (node: Served): void => {
    const id = recent()
    if (id === undefined) return
    ask(
      node,
      () => `cancel ${id}`,
      node.engine.cancel([id], "Nobody wants it any more"),
      ([answer]) => {
        if (answer?.result !== "cancelled") return
        cancelled.add(id)
        const state = table.entries.get(id)?.run.state
        if (state !== "cancelled") watch.violated("I12", `${id} was told to be cancelled and is ${state}`)
      },
    )
  }

  // Now and then somebody looks at a list from before, and asks for what was replayed in the meantime.
  const letters = (isOld: boolean): ReadonlyArray<string> =>
    [...table.letters.values()]
      .filter(({ replayedBy }) => isOld || replayedBy === null)
      .map(({ runId }) => runId)

  const replay = (node: Served): void => {
    const open = letters(random.chance(0.2))
    if (open.length === 0) return
    const some = open.slice(-3)
    ask(
      node,
      () => `replay ${some.join()}`,
      node.engine.replay(some),
      (answers) => {
        for (const { newRunId, runId } of answers)
          if (newRunId !== null && !table.entries.has(newRunId))
            watch.violated("I1", `${runId} was replayed as ${newRunId}, which is not there`)
      },
    )
  }

  const someFlow = (): string | undefined => {
    const flows = [...table.entries.values()].filter(({ flow }) => flow !== null)
    return flows.length === 0 ? undefined : random.pick(flows).run.id
  }

  const byHand: ReadonlyArray<(node: Served) => void> = [
    cancel,
    cancel,
    replay,
    (node) => {
      const id = someFlow()
      if (id === undefined) return
      const from = random.pick(["failed", "skipped"] as const)
      ask(node, () => `rerun ${id} from ${from}`, node.engine.rerun(id, from))
    },
    (node) => {
      const runId = someFlow()
      const flow = runId === undefined ? undefined : table.entries.get(runId)?.flow
      if (runId === undefined || flow === null || flow === undefined || flow.states.length === 0) return
      const place = random.int(0, flow.states.length - 1)
      const { expansion } = flow.plan
      const step = expansion.kind === "flow" ? (expansion.definition.steps[place]?.id ?? "") : String(place)
      const end = random.pick(["succeeded", "skipped"] as const)
      const mark = { runId, step, end, reason: "By hand", output: null }
      ask(node, () => `mark ${step} of ${runId} as ${end}`, node.engine.markStep(mark))
    },
    (node) => {
      const runId = someFlow()
      if (runId !== undefined)
        ask(node, () => `cancel flow ${runId}`, node.engine.cancel([runId], "Not this one"))
    },
  ]

  return {
    request: (node) => {
      const request = newRequest()
      const { answered, failed } = requests.asked(request)
      const acknowledged = (answer: Enqueued): void => {
        acknowledge(answer)
        answered(answer)
      }
      const what = () => `run ${request.job} ${request.id ?? ""}`
      ask(node, what, node.engine.enqueue(request), acknowledged, failed)
    },
    operate: (node) => random.pick(byHand)(node),
    callOff: (node) => {
      const open = [...table.entries.values()].flatMap(({ run }) =>
        run.job === nobodysJob && !isFinal(run.state) ? [run.id] : [],
      )
      if (open.length > 0) ask(node, () => `cancel ${open.join()}`, node.engine.cancel(open, "Nobody may"))
    },
    check: () => {
      for (const id of acknowledged.keys())
        if (!table.entries.has(id)) watch.violated("I1", `${id} was acknowledged and is gone`)
      for (const id of cancelled) {
        const state = table.entries.get(id)?.run.state
        if (state !== "cancelled") watch.violated("I12", `${id} was cancelled and is ${state}`)
      }
    },
  }
}

// The field that placements by hash look at has few values.
const inputOf = (count: number): string => JSON.stringify({ n: count, h: count % 5 })
