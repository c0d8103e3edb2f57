// What the cases of the contract kit are made of: ids in order, rows with defaults, and the few steps that
// nearly every case begins with.
import * as Effect from "effect/Effect"
import type { Settled, Settlement } from "../domain/Outcome.ts"
import type { ErrorInfo, NewRun, Run, RunState } from "../domain/Run.ts"
import type { StoreError } from "../domain/Errors.ts"
import { NodeStore, RunStore, type Store } from "../ports/Store.ts"
import type { Claim, Enqueued, NodeRow, StoreCapabilities } from "../ports/StoreDriver.ts"
import { ContractClock, ContractViolation } from "./Case.ts"

/** The n-th id: a well-formed UUIDv7, greater for a greater n. */
export const runId = (n: number): string => `0199a1b2-0000-7000-8000-${n.toString(16).padStart(12, "0")}`

/** The n-th run, with defaults: due at once, three attempts, no key and no needs. */
export const newRun = (n: number, fields: Partial<NewRun> = {}): NewRun => ({
  id: runId(n),
  job: "report",
  queue: "default",
  input: null,
  dueAt: null,
  delayMillis: 0,
  priority: 0,
  attemptMax: 3,
  key: null,
  startWithinMillis: null,
  scheduleId: null,
  nominalAt: null,
  chainId: null,
  needs: [],
  replayOf: null,
  parentId: null,
  step: null,
  ...fields,
})

/** Runs 1 to `count`, alike. */
export const newRuns = (count: number, fields: Partial<NewRun> = {}): ReadonlyArray<NewRun> =>
  Array.from({ length: count }, (_, index) => newRun(index + 1, fields))

/** An error as a handler might throw it. */
export const failure: ErrorInfo = { name: "Error", message: "It broke", kind: "error" }

/** Enqueues runs. */
export const enqueue = (
  ...runs: ReadonlyArray<NewRun>
): Effect.Effect<ReadonlyArray<Enqueued>, StoreError, RunStore> =>
  Effect.gen(function* () {
    return yield* (yield* RunStore).enqueue(runs)
  })

/** What node "n1" claims: runs of job "report" in queue "default", started at once, unless told otherwise. */
export const wishOf = (fields: Partial<Claim> = {}): Claim => ({
  node: "n1",
  queues: ["default"],
  jobs: ["report"],
  limit: 10,
  acknowledged: true,
  ...fields,
})

const dayMillis = 86_400_000

/** Claims, as `wishOf` says. A node that is not there joins before, with a lease of a day. */
export const claim = (
  fields: Partial<Claim> = {},
): Effect.Effect<ReadonlyArray<Run>, StoreError, RunStore | NodeStore> =>
  Effect.gen(function* () {
    const wish = wishOf(fields)
    const known = yield* (yield* NodeStore).nodes()
    if (!known.some(({ id }) => id === wish.node)) yield* join(wish.node, dayMillis)
    return yield* (yield* RunStore).claim(wish)
  })

/** Claims exactly one run. */
export const claimOne = (
  fields: Partial<Claim> = {},
): Effect.Effect<Run, StoreError | ContractViolation, RunStore | NodeStore> =>
  Effect.gen(function* () {
    const [run] = yield* claim({ limit: 1, ...fields })
    return run ?? (yield* new ContractViolation({ what: "claim", expected: "one run", actual: "none" }))
  })

/** The stored run of this id. */
export const stored = (id: string): Effect.Effect<Run, StoreError | ContractViolation, RunStore> =>
  Effect.gen(function* () {
    const [run] = yield* (yield* RunStore).get([id])
    return (
      run ?? (yield* new ContractViolation({ what: `run ${id}`, expected: "stored", actual: "not there" }))
    )
  })

/** The states of these runs, in order. */
export const statesOf = (
  ...ids: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<RunState>, StoreError, RunStore> =>
  Effect.gen(function* () {
    return (yield* (yield* RunStore).get(ids)).map((run) => run.state)
  })

/** Settles one run. */
export const settle = (
  settlement: Settlement,
): Effect.Effect<Settled, StoreError | ContractViolation, RunStore> =>
  Effect.gen(function* () {
    const [settled] = yield* (yield* RunStore).settle([settlement])
    return (
      settled ?? (yield* new ContractViolation({ what: "settle", expected: "one answer", actual: "none" }))
    )
  })

/** The settlement of a run that returned. */
export const success = (run: Pick<Run, "id" | "token">, output: string | null = null): Settlement => ({
  id: run.id,
  token: run.token,
  kind: "succeeded",
  output,
})

/** The settlement of a run that failed; without `retryInMillis` for good. */
export const failing = (run: Pick<Run, "id" | "token">, retryInMillis: number | null = null): Settlement => ({
  id: run.id,
  token: run.token,
  kind: "failed",
  error: failure,
  retryInMillis,
})

/** Enters a node with a lease of five seconds. */
export const join = (id: string, leaseMillis = 5_000): Effect.Effect<NodeRow, StoreError, NodeStore> =>
  Effect.gen(function* () {
    return yield* (yield* NodeStore).join({ id, host: "localhost", pid: 1, runtime: "test" }, leaseMillis)
  })

/** Makes run `n` and brings it into a state, through the port only; `needs` of run `n` is run `n + 1000`. */
export const bringTo = (
  n: number,
  state: RunState,
  fields: Partial<NewRun> = {},
): Effect.Effect<Run, StoreError | ContractViolation, Store | ContractClock> =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const clock = yield* ContractClock
    const id = runId(n)
    const need = newRun(n + 1_000, { job: "need" })
    // A queue of its own, so that nothing else is claimed on the way.
    const own = { queue: `own-${n}`, ...fields }
    const take = { queues: [own.queue], jobs: [own.job ?? "report"] }
    switch (state) {
      case "blocked":
        yield* enqueue(need, newRun(n, { ...own, needs: [need.id] }))
        break
      case "skipped":
        yield* enqueue(need, newRun(n, { ...own, needs: [need.id] }))
        yield* runs.cancel([need.id], "Not wanted")
        break
      case "scheduled":
        yield* enqueue(newRun(n, { ...own, delayMillis: 60_000 }))
        break
      case "expired":
        yield* enqueue(newRun(n, { ...own, delayMillis: 1, startWithinMillis: 0 }))
        clock.advance(1)
        yield* runs.promote(1_000)
        break
      default:
        yield* enqueue(newRun(n, own))
    }
    if (state === "cancelled") yield* runs.cancel([id], "Not wanted")
    if (state === "running" || state === "retrying" || state === "succeeded" || state === "dead") {
      const run = yield* claimOne(take)
      if (state === "succeeded") yield* settle(success(run))
      if (state === "retrying") yield* settle(failing(run, 60_000))
      if (state === "dead") yield* settle(failing(run))
    }
    const run = yield* stored(id)
    if (run.state === state) return run
    return yield* new ContractViolation({ what: `run ${id}`, expected: state, actual: run.state })
  })

/** Skips a case for stores that end every other node's lease when a node joins. */
export const severalNodes = (capabilities: StoreCapabilities): string | null =>
  capabilities.shared ? null : "It serves one node at a time"
