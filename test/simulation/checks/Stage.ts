// The stage on which each check is shown to fail: a store under one check, which one node uses, and ways to spoil it.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Expansion, FlowDefinition } from "../../../core/domain/Flow.ts"
import type { Settlement } from "../../../core/domain/Outcome.ts"
import type { NewRun, Run } from "../../../core/domain/Run.ts"
import type { EngineService } from "../../../core/engine/Engine.ts"
import { FlowStore, NodeStore, RunStore } from "../../../core/ports/Store.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import type { Seat } from "../Fleet.ts"
import { makeGround, type Spoil, WatchedRuns } from "../Ground.ts"
import { swarmOf } from "../Swarm.ts"
import { Watch } from "../Watch.ts"
import { World } from "../World.ts"
import type { Check, Scene } from "./Check.ts"

const leaseMillis = 2000
const pollMillis = 1000
export const slots = 2

/** A store under one check, which one node uses. */
export const stage = <C extends Check>(checkOf: (scene: Scene) => C, spoil: Spoil = {}) => {
  const world = new World(1, Date.UTC(2024, 5, 12))
  const watch = new Watch(world, { history: false })
  const swarm = { ...swarmOf(1), leaseMillis, pollMillis, slots, graceMillis: 500, workers: 0 }
  const ground = makeGround(
    world,
    { saw: (call, answer, refusal) => check.saw?.(call, answer, refusal) },
    spoil,
  )
  const load = { carried: 0, slots, waitingInWheel: 0 }
  const engine = { node: () => "n1", load: () => load } as EngineService
  const seat: Seat = {
    name: "node0",
    lane: world.lane("node0"),
    engine,
    desk: null,
    lines: new Set(),
    link: { cut: null },
    isDraining: false,
    calmSince: 0,
    underWay: 0,
    stop: () => {},
  }
  const check = checkOf({
    world,
    watch,
    swarm,
    ground,
    isStormy: () => false,
    seats: () => [seat],
    posts: () => [],
  })
  const run = Effect.runSync
  const runs = Context.get(ground.services, RunStore)
  const nodes = Context.get(ground.services, NodeStore)
  const flows = Context.get(ground.services, FlowStore)
  const told = (): ReadonlyArray<string> =>
    watch.violations.map(({ invariant, what }) => `${invariant} ${what}`)
  const join = (id: string) => run(nodes.join({ id, host: "node0", pid: 1, runtime: "test" }, leaseMillis))
  /** A node that never joined, or was forgotten, joins before. */
  const claim = (node = "n1", limit = 10, acknowledged = true) => {
    if (!run(nodes.nodes()).some(({ id }) => id === node)) join(node)
    return run(
      runs.claim({
        node,
        queues: ["default"],
        jobs: ["report", "flow"],
        limit,
        acknowledged,
        expanding: ["flow"],
      }),
    )
  }
  const settle = (...settlements: ReadonlyArray<Settlement>) => run(runs.settle(settlements))
  /** Moves time second by second, as a simulation does. */
  const pass = (seconds: number, each: () => void = () => {}): void => {
    for (let second = 0; second < seconds; second++) {
      world.runUntil(world.elapsed + 1000)
      each()
      check.everySecond?.()
    }
  }
  return {
    world,
    ground,
    seat,
    engine,
    load,
    check,
    runs,
    flows,
    told,
    claim,
    settle,
    join,
    pass,
    enqueue: (...rows: ReadonlyArray<NewRun>) => run(runs.enqueue(rows)),
    renew: (id: string) => run(nodes.renew(id, leaseMillis)),
    reclaim: (self: string) => run(runs.reclaim(self, 10)),
  }
}
export type Stage = ReturnType<typeof stage>

export const won = ({ id, token }: Run): Settlement => ({ id, token, kind: "succeeded", output: `"${id}"` })
export const error = { name: "Oops", message: "It broke", kind: "error" } as const
export const lost = ({ id, token }: Run, retryInMillis: number | null = 0): Settlement => ({
  id,
  token,
  kind: "failed",
  error,
  retryInMillis,
})

/** Does something more than it was asked, after it has done that. */
export const after =
  (operation: keyof StoreDriver, more: (table: WatchedRuns, now: number) => void) =>
  (honest: StoreDriver, { table }: { readonly table: WatchedRuns }): StoreDriver => ({
    ...honest,
    [operation]: (...args: ReadonlyArray<unknown>) => {
      const answer = (honest[operation] as (...all: ReadonlyArray<unknown>) => unknown)(...args)
      more(table, honest.now() as number)
      return answer
    },
  })
export const change = (table: WatchedRuns, id: string, fields: Partial<Run>, now: number): void => {
  const entry = table.entries.get(id)
  if (entry !== undefined) table.put(entry, { ...entry.run, ...fields }, now)
}
/** Changes rows on their way into the table. */
export const rewriting = (rewrite: (next: Run, isFlow: boolean) => Run): Spoil => ({
  table: () =>
    new (class extends WatchedRuns {
      override put(...[entry, next, ...rest]: Parameters<WatchedRuns["put"]>): void {
        super.put(entry, rewrite(next, entry.flow !== null), ...rest)
      }
    })(),
})

const step = (id: string, needs: ReadonlyArray<string>) => ({
  id,
  needs,
  job: "report",
  queue: "default",
  priority: 0,
  attemptMax: 2,
})
export const definition: FlowDefinition = {
  name: "flow",
  version: "1",
  output: "b",
  failFast: false,
  timeoutMillis: null,
  steps: [step("a", []), step("b", ["a"]), step("c", ["a"])],
}
export const expansion: Expansion = { kind: "flow", definition }
