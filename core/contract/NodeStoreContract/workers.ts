// What a store promises of what nodes say of their workers: the latest of each node that is there, and nothing of one that
// is not.
import * as Effect from "effect/Effect"
import { NodeStore, RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectLimit, expectSame } from "../Case.ts"
import { join, severalNodes } from "../Fixtures.ts"

const report = (node: string, workers: string) =>
  Effect.flatMap(NodeStore, (nodes) => nodes.reportWorkers(node, workers))

const reports = Effect.flatMap(NodeStore, (nodes) => nodes.workers())

const text = JSON.stringify([{ name: "edge\u2028 \\ 'x' \"wörker\" 😀", slots: 4 }])

/** Cases of `reportWorkers` and `workers`. */
export const workerReportCases: ReadonlyArray<Case> = [
  {
    name: "reportWorkers > what a node said last is kept as it was given, and changes nothing of its row",
    run: Effect.gen(function* () {
      const nodes = yield* NodeStore
      const row = yield* join("n1")
      yield* expectSame("nothing said", yield* reports, [])
      yield* expectSame("first", yield* report("n1", "[]"), true)
      yield* expectSame("second", yield* report("n1", text), true)
      yield* expectSame("again", yield* report("n1", text), true)
      yield* expectSame("workers", yield* reports, [{ node: "n1", workers: text }])
      yield* expectSame("nodes", yield* nodes.nodes(), [row])
    }),
  },
  {
    name: "reportWorkers > of several nodes each has its own, by id; those that said nothing are left out",
    skip: severalNodes,
    run: Effect.gen(function* () {
      for (const id of ["n2", "n3", "__proto__", "n1"]) yield* join(id)
      for (const id of ["n2", "__proto__", "n1"]) yield* report(id, `["${id}"]`)
      yield* expectSame(
        "workers",
        yield* reports,
        ["__proto__", "n1", "n2"].map((node) => ({ node, workers: `["${node}"]` })),
      )
    }),
  },
  {
    name: "reportWorkers > of a node that is not there: false, and nothing is kept",
    run: Effect.gen(function* () {
      yield* expectSame("never joined", yield* report("n1", "[]"), false)
      yield* join("n1")
      yield* expectSame("workers", yield* reports, [])
      yield* report("n1", "[]")
      yield* (yield* NodeStore).leave("n1")
      yield* expectSame("has left", yield* report("n1", "[]"), false)
      yield* expectSame("afterwards", yield* reports, [])
    }),
  },
  {
    name: "reportWorkers > stays while the node is there, whatever its lease, and goes with it",
    run: Effect.gen(function* () {
      const nodes = yield* NodeStore
      const clock = yield* ContractClock
      yield* join("n1", 1_000)
      yield* report("n1", text)
      yield* nodes.renew("n1", 2_000)
      clock.advance(2_000)
      yield* expectSame("a lease that has ended", yield* reports, [{ node: "n1", workers: text }])
      yield* expectSame("said then", yield* report("n1", "[1]"), true)
      yield* (yield* RunStore).reclaim("n2", 10)
      yield* expectSame("reclaimed", yield* reports, [])
      yield* expectSame("said afterwards", yield* report("n1", "[2]"), false)
      yield* join("n1")
      yield* expectSame("joined again", yield* reports, [])
    }),
  },
  {
    name: "reportWorkers > a node that joins under the same id begins with none",
    run: Effect.gen(function* () {
      yield* join("n1")
      yield* report("n1", text)
      yield* join("n1")
      yield* expectSame("workers", yield* reports, [])
    }),
  },
  {
    name: "reportWorkers > a store for one engine forgets what others said when one joins",
    skip: (capabilities) => (capabilities.shared ? "Several nodes may use it at once" : null),
    run: Effect.gen(function* () {
      yield* join("n1")
      yield* report("n1", text)
      yield* join("n2")
      yield* expectSame("workers", yield* reports, [])
    }),
  },
  {
    name: "reportWorkers > up to 1 MiB in UTF-8; more is refused, and what was said before stays",
    run: Effect.gen(function* () {
      yield* join("n1")
      const longest = `["${"ö".repeat(524_286)}"]`
      yield* expectSame("answer", yield* report("n1", longest), true)
      const [kept] = yield* reports
      yield* expectSame("kept whole", kept?.workers === longest, true)
      yield* expectLimit("workers", report("n1", `${longest} `))
      yield* expectLimit("workers", report("n1", "x".repeat(1_048_577)))
      yield* expectSame("kept still", (yield* reports)[0]?.workers === longest, true)
    }),
  },
]
