// What a store promises to callers who come at the same time: each operation is whole by itself, so whatever the order,
// the end is one that could have come of one call after the other. A store that answers at once never sees two; one
// that waits for its database may.
import * as Effect from "effect/Effect"
import { CredentialStore, RunStore, ScheduleStore } from "../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "./Case.ts"
import { newCredential, putCredential } from "./CredentialStoreContract.ts"
import {
  claim,
  claimOne,
  enqueue,
  failing,
  join,
  newRun,
  newRuns,
  runId,
  settle,
  severalNodes,
  stored,
  success,
} from "./Fixtures.ts"
import { beginFlow, claimStep, expectTrueCounts, flowOf, step } from "./FlowStoreContract/fixtures.ts"
import { deleteRecords, newRecord, putRecords, recordPage } from "./RecordStoreContract.ts"
import { fireAt, newSchedule, put, rowOf } from "./ScheduleStoreContract/fixtures.ts"

/** Makes all calls at once; answers what each was answered, in their order. */
const together = <A, E, R>(calls: Iterable<Effect.Effect<A, E, R>>): Effect.Effect<Array<A>, E, R> =>
  Effect.all(calls, { concurrency: "unbounded" })

const times = <A>(count: number, make: (index: number) => A): Array<A> =>
  Array.from({ length: count }, (_, index) => make(index))

/** Cases of calls that are made at the same time. */
export const togetherContract: ReadonlyArray<Case> = [
  {
    name: "enqueue > of several at once with one key, and of one id, one is stored",
    run: Effect.gen(function* () {
      const answers = yield* together([
        ...times(4, (n) => enqueue(newRun(n + 1, { key: "k" }))),
        ...times(4, () => enqueue(newRun(9))),
      ])
      const results = answers.flat().map(({ result }) => result)
      yield* expectSame("created", results.filter((result) => result === "created").length, 2)
      yield* expectSame(
        "of the key",
        new Set(
          answers
            .slice(0, 4)
            .flat()
            .map(({ id }) => id),
        ).size,
        1,
      )
      yield* expectTrueCounts
    }),
  },
  {
    name: "claim > several at once: each run is given once",
    run: Effect.gen(function* () {
      yield* enqueue(...newRuns(20))
      yield* claim({ jobs: ["none"] })
      const taken = (yield* together(times(8, () => claim({ limit: 3 })))).flat()
      const ids = new Set(taken.map(({ id }) => id))
      yield* expectSame("each once", ids.size, taken.length)
      yield* expectSame("tokens", [...new Set(taken.map(({ token }) => token))], [1])
      // Those that one claim has in hand, another may pass over: they are there for the next.
      const left = yield* claim({ limit: 20 })
      yield* expectSame("all", taken.length + left.length, 20)
      yield* expectTrueCounts
    }),
  },
  {
    name: "settle > of several outcomes at once under one token one is applied",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1), newRun(2, { job: "load", needs: [runId(1)] }))
      const run = yield* claimOne()
      const outcomes = [success(run, "1"), failing(run, 60_000), success(run, "2"), failing(run)]
      yield* together(outcomes.map((outcome) => settle(outcome)))
      const { state, output } = yield* stored(run.id)
      const failures = state === "succeeded" ? 0 : 1
      yield* expectSame("attempts", (yield* runs.attempts(run.id)).length, failures)
      yield* expectSame("output", output === null, state !== "succeeded")
      const letters = (yield* runs.deadLetters({ limit: 10 })).length
      yield* expectSame("letters", letters, state === "dead" ? 1 : 0)
      yield* expectTrueCounts
    }),
  },
  {
    name: "settle > needs that end at once release what waits for them, once",
    run: Effect.gen(function* () {
      yield* enqueue(...newRuns(6))
      yield* enqueue(newRun(7, { job: "load", needs: [1, 2, 3, 4, 5, 6].map(runId) }))
      const taken = yield* claim()
      yield* together(taken.map((run) => settle(success(run))))
      yield* expectFields("released", yield* stored(runId(7)), { state: "ready", waitingFor: 0 })
      yield* expectTrueCounts
    }),
  },
  {
    name: "settle > steps that end at once end their flow run, once",
    run: Effect.gen(function* () {
      const ids = times(6, (n) => `s${n}`)
      yield* beginFlow(1, flowOf([...ids.map((id) => step(id)), step("last", ids)]))
      const taken = []
      for (const id of ids) taken.push(yield* claimStep(id))
      yield* together(taken.map((run) => settle(success(run))))
      yield* settle(success(yield* claimStep("last")))
      yield* expectFields("flow run", yield* stored(runId(1)), { state: "succeeded", waitingFor: 0 })
      yield* expectTrueCounts
    }),
  },
  {
    name: "cancel > at once with its outcome: it has one end, and that stays",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(...newRuns(6))
      const taken = yield* claim()
      yield* together([
        ...taken.map((run) => Effect.asVoid(settle(success(run)))),
        Effect.asVoid(
          runs.cancel(
            taken.map(({ id }) => id),
            "Not wanted",
          ),
        ),
      ])
      for (const { id } of taken) {
        const { state, reason } = yield* stored(id)
        yield* expectSame(`end of ${id}`, reason, state === "cancelled" ? "Not wanted" : null)
      }
      yield* expectTrueCounts
    }),
  },
  {
    name: "adopt > by several nodes at once: one of them carries it in the end, and can settle it",
    skip: severalNodes,
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(...newRuns(4))
      const taken = yield* claim({ acknowledged: false })
      const held = taken.map(({ id, token }) => ({ id, token }))
      const names = times(4, (n) => `n${n + 2}`)
      for (const name of names) yield* join(name, 60_000)
      const answers = yield* together(
        names.map((name, n) => runs.adopt(name, n % 2 === 0 ? held : held.toReversed())),
      )
      yield* expectSame("answers", [...new Set(answers.flat())], [true])
      const carried = yield* together(names.map((name) => runs.carried(name, 10)))
      yield* expectSame(
        "each is one node's",
        carried
          .flat()
          .map(({ id }) => id)
          .sort(),
        held.map(({ id }) => id),
      )
      for (const run of taken) yield* settle(success(run))
      yield* expectTrueCounts
    }),
  },
  {
    name: "adopt > at once with the reclaim of its dead node: it is taken back, or it is this node's, and both are told so",
    skip: severalNodes,
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* join("dead", 1_000)
      yield* enqueue(...newRuns(6))
      const taken = yield* claim({ node: "dead", acknowledged: false })
      ;(yield* ContractClock).advance(1_000)
      for (const name of ["n1", "n2"]) yield* join(name, 60_000)
      const reclaims = times(2, () => Effect.map(runs.reclaim("n1", 10), (rows) => rows.map(({ id }) => id)))
      const adopts = taken.map(({ id, token }) =>
        Effect.map(runs.adopt("n2", [{ id, token }]), ([isOurs]) => (isOurs === true ? [id] : [])),
      )
      const [first, second, ...adopted] = yield* together([...reclaims, ...adopts])
      const ours = adopted.flat()
      yield* expectSame(
        "each went one way",
        [...(first ?? []), ...(second ?? []), ...ours].sort(),
        taken.map(({ id }) => id),
      )
      for (const { id } of taken) {
        const isOurs = ours.includes(id)
        yield* expectFields(id, yield* stored(id), {
          state: isOurs ? "running" : "ready",
          node: isOurs ? "n2" : null,
          losses: isOurs ? 0 : 1,
        })
      }
      yield* expectTrueCounts
    }),
  },
  {
    name: "putCredential > several at once with one name, and with one id: one of each is stored",
    run: Effect.gen(function* () {
      const credentials = yield* CredentialStore
      const answers = yield* together([
        ...times(4, (n) => putCredential(newCredential(n, { name: "edge" }))),
        ...times(4, (n) => putCredential(newCredential(n + 10, { id: "c9" }))),
      ])
      yield* expectSame("created", answers.filter((answer) => answer === "created").length, 2)
      yield* expectSame("rows", (yield* credentials.credentials()).length, 2)
    }),
  },
  {
    name: "putRecords > several at once that expect one version: one of them puts it, and the others are told",
    run: Effect.gen(function* () {
      yield* putRecords(newRecord("there"))
      const same = (expected: number, id: string) =>
        times(6, (n) => putRecords(newRecord(id, { expected, body: String(n) })))
      for (const [expected, id] of [
        [0, "new"],
        [1, "there"],
        [2, "there"],
      ] as const) {
        const answers = (yield* together(same(expected, id))).flat()
        const won = answers.flatMap((version, n) => (version > 0 ? [n] : []))
        yield* expectSame(`${id}, version ${expected}`, won.length, 1)
        const [row] = yield* recordPage({ prefix: id })
        yield* expectSame("what is there", [row?.version, row?.body], [expected + 1, String(won[0])])
      }
      const versions = yield* together(times(6, () => putRecords(newRecord("any"))))
      yield* expectSame(
        "whatever is there",
        versions.flat().sort((a, b) => a - b),
        [1, 2, 3, 4, 5, 6],
      )
    }),
  },
  {
    name: "putRecords, deleteRecords > batches in any order at once: each is whole, and none is lost",
    run: Effect.gen(function* () {
      const ids = times(5, (n) => `r${n}`)
      const batch = (names: ReadonlyArray<string>) => putRecords(...names.map((id) => newRecord(id)))
      yield* together([batch(ids), batch(ids.toReversed()), batch(ids), batch(ids.toReversed())])
      const rows = yield* recordPage()
      yield* expectSame(
        "versions",
        rows.map(({ version }) => version),
        [4, 4, 4, 4, 4],
      )
      const removals = [deleteRecords(...ids), deleteRecords(...ids.toReversed()), deleteRecords("r2", "r0")]
      const gone = yield* together(removals)
      yield* expectSame(
        "each once",
        gone.reduce((sum, count) => sum + count, 0),
        5,
      )
      yield* expectSame("none", yield* recordPage(), [])
    }),
  },
  {
    name: "fire > one step, from several planners at once, is done once",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const now = (yield* ContractClock).now()
      yield* put(newSchedule("s", { cursor: now - 1, nextAt: now }))
      const row = yield* rowOf("s")
      // Keyed ones are looked at one by one.
      const steps = times(6, (n) => fireAt(row, now, newRun(n + 1, n % 2 === 0 ? {} : { key: `k${n}` })))
      const answers = (yield* together(steps.map((each) => schedules.fire([each])))).flat()
      yield* expectSame("fired", answers.filter((answer) => answer === "fired").length, 1)
      const ledger = yield* schedules.occurrences({ limit: 10 })
      const stored = (yield* runs.list({ limit: 10 })).map(({ id }) => id)
      yield* expectSame(
        "one row, one run",
        ledger.map((each) => each.runId),
        stored,
      )
      yield* expectFields("schedule", yield* rowOf("s"), { version: row.version + 1, runCount: 1 })
      yield* expectTrueCounts
    }),
  },
  {
    name: "putSchedules > nodes that save the same new schedules at once all succeed",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      const rows = times(5, (n) => newSchedule(`s${n}`, { cursor: now - 1, nextAt: now }))
      yield* together([put(...rows), put(...rows.toReversed()), put(...rows)])
      const kept = (yield* (yield* ScheduleStore).schedules()).map(({ id, version }) => `${id} ${version}`)
      yield* expectSame("schedules", kept.sort(), ["s0 1", "s1 1", "s2 1", "s3 1", "s4 1"])
    }),
  },
]
