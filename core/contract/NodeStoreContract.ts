// Everything that a store promises about nodes, their leases and its own clock, as cases that every driver
// must pass.
import * as Effect from "effect/Effect"
import { NodeStore, RunStore, StoreInfo } from "../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame, expectTrue } from "./Case.ts"
import { claimOne, enqueue, join, newRun, severalNodes } from "./Fixtures.ts"
import { workerReportCases } from "./NodeStoreContract/workers.ts"

const nodeIds = Effect.gen(function* () {
  return (yield* (yield* NodeStore).nodes()).map((row) => row.id).sort()
})

/** The cases of `NodeStoreDriver` and of the store's clock. */
export const nodeStoreContract: ReadonlyArray<Case> = [
  {
    name: "join > the node is entered with its lease, by the store's clock",
    run: Effect.gen(function* () {
      const nodes = yield* NodeStore
      const now = (yield* ContractClock).now()
      const given = { id: "n1", host: "höst", pid: 4_711, runtime: "bun 1.4.5" }
      const row = yield* nodes.join(given, 5_000)
      yield* expectSame("answer", row, { ...given, startedAt: now, expiresAt: now + 5_000 })
      yield* expectSame("nodes", yield* nodes.nodes(), [row])
    }),
  },
  {
    name: "join > an id that comes back replaces its row",
    run: Effect.gen(function* () {
      const nodes = yield* NodeStore
      const clock = yield* ContractClock
      yield* join("n1")
      clock.advance(60_000)
      const row = yield* join("n1", 1_000)
      yield* expectFields("row", row, { startedAt: clock.now(), expiresAt: clock.now() + 1_000 })
      yield* expectSame("nodes", yield* nodes.nodes(), [row])
    }),
  },
  {
    name: "join > several nodes hold leases beside each other",
    skip: severalNodes,
    run: Effect.gen(function* () {
      const nodes = yield* NodeStore
      for (const id of ["n2", "__proto__", "n1"]) yield* join(id)
      yield* expectSame("nodes", yield* nodeIds, ["__proto__", "n1", "n2"])
      for (const id of ["n2", "__proto__", "n1"]) {
        yield* expectSame(`renew ${id}`, yield* nodes.renew(id, 5_000), true)
      }
    }),
  },
  {
    name: "join > a store for one engine ends the leases of all others",
    skip: (capabilities) => (capabilities.shared ? "Several nodes may use it at once" : null),
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* join("n1", 60_000)
      yield* enqueue(newRun(1))
      yield* claimOne({ node: "n1" })
      yield* join("n2", 60_000)
      const alive = (yield* (yield* NodeStore).nodes()).filter((row) => row.expiresAt > clock.now())
      yield* expectSame(
        "alive",
        alive.map((row) => row.id),
        ["n2"],
      )
      yield* expectSame(
        "reclaimed",
        (yield* runs.reclaim("n2", 10)).map((row) => row.node),
        ["n1"],
      )
    }),
  },
  {
    name: "renew > extends the lease from the store's now",
    run: Effect.gen(function* () {
      const nodes = yield* NodeStore
      const clock = yield* ContractClock
      const row = yield* join("n1", 1_000)
      clock.advance(400)
      yield* expectSame("answer", yield* nodes.renew("n1", 2_000), true)
      yield* expectSame("nodes", yield* nodes.nodes(), [{ ...row, expiresAt: clock.now() + 2_000 }])
    }),
  },
  {
    name: "renew > a lease that ran out is extended as long as nobody took the node's runs",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const nodes = yield* NodeStore
      const clock = yield* ContractClock
      yield* join("n1", 1_000)
      yield* enqueue(newRun(1))
      yield* claimOne()
      clock.advance(60_000)
      yield* expectSame("answer", yield* nodes.renew("n1", 1_000), true)
      yield* expectSame("reclaimed", yield* runs.reclaim("n2", 10), [])
    }),
  },
  {
    name: "renew > answers false once the node was reclaimed, left or was never there",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const nodes = yield* NodeStore
      yield* expectSame("never there", yield* nodes.renew("n1", 1_000), false)
      yield* join("n1", 1_000)
      yield* nodes.leave("n1")
      yield* expectSame("left", yield* nodes.renew("n1", 1_000), false)
      yield* join("n1", 1_000)
      ;(yield* ContractClock).advance(1_000)
      yield* runs.reclaim("n2", 10)
      yield* expectSame("reclaimed", yield* nodes.renew("n1", 1_000), false)
      yield* expectSame("nodes", yield* nodes.nodes(), [])
    }),
  },
  {
    name: "renew > a node whose runs were not all taken yet is there still, and so is the one that takes them",
    skip: severalNodes,
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const nodes = yield* NodeStore
      yield* join("n1", 1_000)
      yield* join("dead", 1_000)
      yield* enqueue(newRun(1), newRun(2))
      for (const _ of [1, 2]) yield* claimOne({ node: "dead" })
      ;(yield* ContractClock).advance(1_000)
      yield* runs.reclaim("n1", 1)
      yield* expectSame("one is left", yield* nodeIds, ["dead", "n1"])
      yield* runs.reclaim("n1", 1)
      yield* expectSame("none is left", yield* nodeIds, ["n1"])
      yield* expectSame("its own lease has ended too", yield* nodes.renew("n1", 1_000), true)
    }),
  },
  {
    name: "leave > removes the node, and is safe to repeat",
    run: Effect.gen(function* () {
      const nodes = yield* NodeStore
      yield* join("n1")
      yield* nodes.leave("n1")
      yield* nodes.leave("n1")
      yield* expectSame("nodes", yield* nodeIds, [])
    }),
  },
  ...workerReportCases,
  {
    name: "now > the store's clock decides, and says so",
    run: Effect.gen(function* () {
      const info = yield* StoreInfo
      const clock = yield* ContractClock
      yield* expectSame("now", yield* info.now, clock.now())
      clock.advance(1_234)
      yield* expectSame("later", yield* info.now, clock.now())
    }),
  },
  {
    name: "capabilities > are stated",
    run: Effect.gen(function* () {
      const { capabilities } = yield* StoreInfo
      yield* expectTrue("a name", capabilities.name.length > 0)
      const kinds = [typeof capabilities.durable, typeof capabilities.shared]
      yield* expectSame("kinds", kinds, ["boolean", "boolean"])
    }),
  },
]
