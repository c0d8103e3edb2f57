// Everything that the port shows of a store, so that two stores can be compared by what anybody could see of them.
import * as Effect from "effect/Effect"
import type { StoreError } from "../../domain/Errors.ts"
import {
  CredentialStore,
  FlowStore,
  NodeStore,
  RecordStore,
  RunStore,
  ScheduleStore,
  type Store,
  StoreInfo,
} from "../../ports/Store.ts"
import { type ContractViolation, expectSame } from "../Case.ts"
import { recordKind } from "../RecordStoreContract.ts"

const yearMillis = 31_536_000_000

const by = <A>(rows: ReadonlyArray<A>, keyOf: (row: A) => string): ReadonlyArray<A> =>
  rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))

type Seen = Readonly<Record<string, unknown>>

/** All that can be seen, in parts with names. For cases with at most 200 runs. */
export const look: Effect.Effect<Seen, StoreError, Store> = Effect.gen(function* () {
  const runs = yield* RunStore
  const flows = yield* FlowStore
  const schedules = yield* ScheduleStore
  const now = yield* (yield* StoreInfo).now
  const list = yield* runs.list({ limit: 200 })
  const ids = list.map(({ id }) => id)
  const nodes = new Set(list.map(({ node }) => node ?? "n1"))
  return {
    runs: list,
    counts: by(yield* runs.counts(), ({ job, state }) => `${job} ${state}`),
    depths: yield* runs.queueDepths(),
    attempts: yield* Effect.forEach(ids, (id) => runs.attempts(id)),
    letters: yield* runs.deadLetters({ limit: 200 }),
    due: yield* runs.dueWithin(0, now + yearMillis, 1_000),
    carried: yield* Effect.forEach([...nodes].sort(), (node) =>
      Effect.map(runs.carried(node, 1_000), (rows) => by(rows, ({ id }) => id)),
    ),
    flows: yield* Effect.forEach(ids, (id) => flows.flowOf(id)),
    inputs: by(yield* flows.stepInputs(ids), ({ runId }) => runId),
    schedules: by(yield* schedules.schedules(), ({ id }) => id),
    dueSchedules: by(yield* schedules.dueSchedules(1_000), ({ id }) => id),
    nextScheduleAt: yield* schedules.nextScheduleAt(),
    // Of one instant, the port says nothing about their order.
    occurrences: by(
      yield* schedules.occurrences({ limit: 200 }),
      ({ at, scheduleId }) => `${at} ${scheduleId}`,
    ),
    calendars: yield* schedules.calendars(),
    nodes: by(yield* (yield* NodeStore).nodes(), ({ id }) => id),
    workers: yield* (yield* NodeStore).workers(),
    credentials: yield* (yield* CredentialStore).credentials(),
    records: yield* (yield* RecordStore).records({ kind: recordKind, order: "ascending", limit: 1_000 }),
  }
})

/**
 * The same, and what a node would claim, in its order: a row that is kept twice inside would come out there. It is a
 * case's last look.
 */
export const lookAtEnd: Effect.Effect<Seen, StoreError, Store> = Effect.gen(function* () {
  const runs = yield* RunStore
  const list = yield* runs.list({ limit: 200 })
  const seen = yield* look
  const claimed = yield* runs.claim({
    node: "looking",
    queues: [...new Set(list.map(({ queue }) => queue))],
    jobs: [...new Set(list.map(({ job }) => job))],
    limit: 1_000,
    acknowledged: true,
  })
  return { ...seen, claimed }
})

/** Fails unless what is seen is what was expected; the first part that differs is told. */
export const expectAlike = (seen: Seen, expected: Seen): Effect.Effect<void, ContractViolation> =>
  Effect.forEach(Object.keys(expected), (part) => expectSame(part, seen[part], expected[part]), {
    discard: true,
  })

/** Fails unless the store looks the same afterwards. */
export const changingNothing = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E | StoreError | ContractViolation, R | Store> =>
  Effect.gen(function* () {
    const before = yield* look
    const answer = yield* effect
    yield* expectAlike(yield* look, before)
    return answer
  })
