// Several nodes over one schema of a real server, at the same time: who wins is decided by the database, everybody is
// told, and what two do to the same rows in different orders ends all the same.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { postgresDriver } from "../../../../adapters/store-sql/postgres.ts"
import { connect } from "../../../../adapters/store-sql/postgres/connect.ts"
import { expanding, flowOf, step } from "../../../../core/contract/FlowStoreContract/fixtures.ts"
import { failure, newRun } from "../../../../core/contract/Fixtures.ts"
import { fireAt, newSchedule } from "../../../../core/contract/ScheduleStoreContract/fixtures.ts"
import { isFinal, type NewRun, type Run } from "../../../../core/domain/Run.ts"
import type { StoreDriver } from "../../../../core/ports/StoreDriver.ts"
import { dropSchemas, missing, schemaName, url } from "./server.ts"

let next = 1
/** Runs of a job that no other test claims. */
const runsOf = (job: string, count: number, fields: Partial<NewRun> = {}): ReadonlyArray<NewRun> =>
  Array.from({ length: count }, () => newRun(next++, { job, ...fields }))

describe.skipIf(missing !== null)(
  `PostgreSQL with several nodes${missing === null ? "" : ` (${missing})`}`,
  () => {
    const schema = schemaName()
    let nodes: ReadonlyArray<StoreDriver> = []
    const [a, b] = [() => nodes[0] as StoreDriver, () => nodes[1] as StoreDriver]
    const nodeOf = (index: number): StoreDriver => nodes[index % nodes.length] as StoreDriver

    // Both at once, over a schema that is not there: migrations are part of the race.
    beforeAll(async () => {
      nodes = await Promise.all([1, 2].map(() => postgresDriver({ url, schema })))
      for (let index = 0; index < 8; index++)
        await a().join({ id: `n${index}`, host: "h", pid: 1, runtime: "test" }, 600_000)
    })
    afterAll(async () => {
      for (const node of nodes) await node.close()
      await dropSchemas()
    })

    const claim = (store: StoreDriver, job: string, limit = 1000, node = "n1") =>
      store.claim({ node, queues: ["default"], jobs: [job], limit, acknowledged: true })
    const statesOf = async (runs: ReadonlyArray<{ readonly id: string }>) =>
      (await a().get(runs.map(({ id }) => id))).map(({ state }) => state)
    const countsOf = async (job: string) =>
      Object.fromEntries(
        (await a().counts()).filter((row) => row.job === job).map(({ state, count }) => [state, count]),
      )

    test("claim > eight claimers get every run once", async () => {
      const runs = runsOf("claimed", 1000)
      await a().enqueue(runs)
      const claimers = Array.from({ length: 8 }, async (_, index) => {
        const mine: Array<Run> = []
        for (;;) {
          const some = await claim(nodeOf(index), "claimed", 10, `n${index}`)
          if (some.length === 0) return mine
          mine.push(...some)
        }
      })
      const claimed = (await Promise.all(claimers)).flat()
      expect(claimed.map(({ id }) => id).toSorted()).toEqual(runs.map(({ id }) => id))
      expect(await countsOf("claimed")).toEqual({ running: 1000 })
    })

    test("settle > of two who settle the same run, both hear what was done once", async () => {
      const runs = runsOf("settled", 100)
      await a().enqueue(runs)
      const held = await claim(a(), "settled")
      const settlements = held.map(
        ({ id, token }) => ({ id, token, kind: "failed", error: failure, retryInMillis: 0 }) as const,
      )
      const answers = await Promise.all([a().settle(settlements), b().settle(settlements.toReversed())])
      expect(answers.flat().filter(({ result }) => result === "settled")).toHaveLength(200)
      for (const { id } of runs) expect(await a().attempts(id)).toHaveLength(1)
      expect(await countsOf("settled")).toEqual({ retrying: 100 })
    })

    test("settle > in a batch of successes each is judged by itself, and what hangs on them moves", async () => {
      const [alone, keyed, needed, stale] = runsOf("successes", 4) as [NewRun, NewRun, NewRun, NewRun]
      const [after] = runsOf("after", 1, { needs: [needed.id] }) as [NewRun]
      await a().enqueue([alone, { ...keyed, key: "k" }, needed, stale])
      await a().enqueue([after])
      const claimed = new Map((await claim(a(), "successes")).map((run) => [run.id, run.token]))
      const batch = [alone, keyed, needed, stale].map(({ id }) => ({
        id,
        token: (claimed.get(id) ?? 0) + (id === stale.id ? 1 : 0),
        kind: "succeeded" as const,
        output: id === alone.id ? '"an \\"output\\", {}"' : null,
      }))
      const expected = ["settled", "settled", "settled", "stale"]
      expect((await a().settle(batch)).map(({ result }) => result)).toEqual(expected)
      expect(await statesOf([alone, keyed, needed, stale, after])).toEqual([
        "succeeded",
        "succeeded",
        "succeeded",
        "running",
        "ready",
      ])
      expect((await a().get([alone.id]))[0]?.output).toBe('"an \\"output\\", {}"')
      // Again, as after an answer that was lost: from both nodes at once, and nothing moves twice.
      const again = await Promise.all([a().settle(batch), b().settle(batch)])
      expect(again.map((answers) => answers.map(({ result }) => result))).toEqual([expected, expected])
      expect(await countsOf("successes")).toEqual({ running: 1, succeeded: 3 })
      const [next] = runsOf("successes", 1, { key: "k" })
      expect((await a().enqueue([next as NewRun]))[0]?.result).toBe("created")
    })

    test("settle > of two who settle overlapping batches of successes in opposite orders, each run ends once", async () => {
      await a().enqueue(runsOf("overlapping", 400))
      const held = (await claim(a(), "overlapping")).map(({ id, token }) => ({
        id,
        token,
        kind: "succeeded" as const,
        output: null,
      }))
      const answers = await Promise.all([
        a().settle(held.slice(0, 300)),
        b().settle(held.slice(100).toReversed()),
      ])
      expect(answers.flat().every(({ result, state }) => result === "settled" && state === "succeeded")).toBe(
        true,
      )
      expect(await countsOf("overlapping")).toEqual({ succeeded: 400 })
    })

    test("settle > steps of one flow that end at the same time on several connections release their join once", async () => {
      const places = Array.from({ length: 40 }, (_, index) => `part${index}`)
      const flow = flowOf([
        ...places.map((id) => step(id, [], { job: "part" })),
        step("join", places, { job: "joined" }),
      ])
      const [root] = runsOf("flow", 1)
      await a().enqueue([root as NewRun])
      const [run] = await claim(a(), "flow")
      await a().settle([expanding(run as Run, flow)])
      const steps = await claim(a(), "part")
      expect(steps).toHaveLength(40)
      await Promise.all(
        steps.map(async ({ id, token }, index) =>
          nodeOf(index).settle([{ id, token, kind: "succeeded", output: "1" }]),
        ),
      )
      const joins = await claim(b(), "joined")
      expect(joins).toHaveLength(1)
      await b().settle(joins.map(({ id, token }) => ({ id, token, kind: "succeeded", output: null })))
      expect(await statesOf([root as NewRun])).toEqual(["succeeded"])
      expect(await countsOf("part")).toEqual({ succeeded: 40 })
    })

    test("putSchedules > eight nodes that start with the same new schedules all save them, each once", async () => {
      for (let round = 0; round < 5; round++) {
        const schedules = [1, 2, 3].map((n) =>
          newSchedule(`saved ${round} ${n}`, { cursor: 0, nextAt: null }),
        )
        await Promise.all(
          Array.from({ length: 8 }, async (_, index) =>
            nodeOf(index).putSchedules(index % 2 === 0 ? schedules : schedules.toReversed()),
          ),
        )
        const saved = (await a().schedules()).filter(({ id }) => id.startsWith(`saved ${round}`))
        expect(saved.map(({ version }) => version)).toEqual([1, 1, 1])
      }
    })

    test("fire > of eight planners with one version, one fires", async () => {
      await a().putSchedules([newSchedule("raced", { cursor: 0, nextAt: 1000 })])
      for (let round = 1; round <= 10; round++) {
        const runs = runsOf("fired", 8)
        const answers = await Promise.all(
          runs.map(async (run, index) =>
            nodeOf(index).fire([fireAt({ id: "raced", version: round }, round * 1000, run)]),
          ),
        )
        expect(answers.flat().toSorted()).toEqual([...Array(7).fill("conflict"), "fired"])
      }
      expect(await countsOf("fired")).toEqual({ ready: 10 })
      expect(await a().occurrences({ scheduleId: "raced", limit: 200 })).toHaveLength(10)
    })

    test("enqueue > of eight who ask for one key, one makes the run", async () => {
      for (let round = 0; round < 10; round++) {
        const runs = runsOf("keyed", 8, { key: `k${round}` })
        const answers = (
          await Promise.all(runs.map(async (run, index) => nodeOf(index).enqueue([run])))
        ).flat()
        expect(answers.filter(({ result }) => result === "created")).toHaveLength(1)
        expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
      }
      expect(await countsOf("keyed")).toEqual({ ready: 10 })
    })

    test("enqueue > the same batch from two, in opposite orders, is stored once", async () => {
      const runs = runsOf("same", 200).map((run, index) => ({ ...run, key: `s${index}` }))
      const answers = await Promise.all([a().enqueue(runs), b().enqueue(runs.toReversed())])
      expect(answers.flat().filter(({ result }) => result === "created")).toHaveLength(200)
      expect(await countsOf("same")).toEqual({ ready: 200 })
    })

    test("needs > a run that is enqueued while its need ends does not wait for ever", async () => {
      for (let round = 0; round < 30; round++) {
        const [need, after] = runsOf("needed", 2) as [NewRun, NewRun]
        await a().enqueue([need])
        const [held] = (await claim(a(), "needed")) as [Run]
        await Promise.all([
          a().settle([{ id: held.id, token: held.token, kind: "succeeded", output: null }]),
          b().enqueue([{ ...after, needs: [need.id] }]),
        ])
        expect(await statesOf([after])).toEqual(["ready"])
        await claim(a(), "needed")
      }
    })

    test("needs > needs that end at the same time release what needs all of them", async () => {
      const needs = runsOf("all", 20)
      const [last] = runsOf("behind", 1) as [NewRun]
      await a().enqueue([...needs, { ...last, needs: needs.map(({ id }) => id) }])
      const held = await claim(a(), "all")
      await Promise.all(
        held.map(async ({ id, token }, index) =>
          nodeOf(index).settle([{ id, token, kind: "succeeded", output: null }]),
        ),
      )
      expect(await statesOf([last])).toEqual(["ready"])
    })

    test("cancel and settle > in opposite orders, over chains that hang together, all of them end", async () => {
      for (let round = 0; round < 10; round++) {
        const chains = Array.from({ length: 10 }, () => runsOf("crossed", 3) as [NewRun, NewRun, NewRun])
        const runs = chains.flatMap(([first, second, third]) => [
          first,
          { ...second, needs: [first.id] },
          { ...third, needs: [first.id, second.id] },
        ])
        await a().enqueue(runs)
        const held = await claim(a(), "crossed")
        const ids = runs.map(({ id }) => id)
        const ends = held.map(({ id, token }) => ({ id, token, kind: "succeeded", output: null }) as const)
        await Promise.all([
          a().cancel(ids, "Not any more"),
          b().cancel(ids.toReversed(), "Not any more"),
          a().settle(ends.toReversed()),
          b().settle(ends),
        ])
        expect((await statesOf(runs)).every(isFinal)).toBe(true)
      }
      const counts = await countsOf("crossed")
      expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(300)
      expect(Object.keys(counts).every((state) => isFinal(state as Run["state"]))).toBe(true)
    })

    test("replay > of two who replay a dead run, both get the one new run", async () => {
      const runs = runsOf("dead", 20)
      await a().enqueue(runs)
      const held = await claim(a(), "dead")
      await a().settle(
        held.map(({ id, token }) => ({ id, token, kind: "failed", error: failure, retryInMillis: null })),
      )
      const ids = runs.map(({ id }) => id)
      const [first, second] = await Promise.all(
        [a(), b()].map(async (store) =>
          store.replay(
            ids,
            runsOf("dead", 20).map(({ id }) => id),
          ),
        ),
      )
      expect(first?.map(({ newRunId }) => newRunId)).toEqual(second?.map(({ newRunId }) => newRunId))
      expect(await countsOf("dead")).toEqual({ dead: 20, ready: 20 })
    })

    test("reclaim > two nodes take back what a third left behind, each run once, and nothing that was claimed anew", async () => {
      const runs = runsOf("left", 200)
      await a().enqueue(runs)
      await a().join({ id: "gone", host: "h", pid: 1, runtime: "test" }, 60_000)
      await a().join({ id: "alive", host: "h", pid: 2, runtime: "test" }, 60_000)
      expect(await claim(a(), "left", 1000, "gone")).toHaveLength(200)
      await a().leave("gone")
      const again = async () => {
        const taken: Array<Run> = []
        while (taken.length < 200) {
          const some = await claim(b(), "left", 20, "alive")
          taken.push(...some)
          await b().settle(some.map(({ id, token }) => ({ id, token, kind: "succeeded", output: null })))
        }
        return taken
      }
      const reclaimAll = async (store: StoreDriver, self: string) => {
        const taken = []
        for (;;) {
          const some = await store.reclaim(self, 50)
          taken.push(...some.filter(({ job }) => job === "left"))
          if (some.length === 0) return taken
        }
      }
      const [one, two, taken] = await Promise.all([reclaimAll(a(), "x"), reclaimAll(b(), "y"), again()])
      const reclaimed = [...one, ...two].map(({ id }) => id)
      // A reclaimer passes over rows that the other has in hand: the rest is left to its next look.
      const late = (await a().reclaim("x", 1000)).filter(({ job }) => job === "left")
      expect([...reclaimed, ...late.map(({ id }) => id)].toSorted()).toEqual(runs.map(({ id }) => id))
      expect(taken).toHaveLength(200)
      expect(await countsOf("left")).toEqual({ succeeded: 200 })
    })

    test("putSchedules > nodes that start at the same time save the same schedules, and each succeeds", async () => {
      for (let round = 0; round < 10; round++) {
        const schedules = Array.from({ length: 20 }, (_, index) => ({
          id: `start-${round}-${index}`,
          job: "start",
          trigger: { kind: "every", periodMillis: 1000, startAt: null } as const,
          input: null,
          overlap: "skip" as const,
          fromConfig: true,
          cursor: 0,
          nextAt: null,
          zoneData: null,
          createdAt: 0,
        }))
        await Promise.all(
          Array.from({ length: 4 }, async (_, index) => nodeOf(index).putSchedules(schedules)),
        )
      }
      const made = (await a().schedules()).filter(({ job }) => job === "start")
      expect(made.map(({ version }) => version)).toEqual(made.map(() => 1))
      expect(made).toHaveLength(200)
    })

    test("counts > many small changes are folded, and their sum stays", async () => {
      for (let round = 0; round < 30; round++)
        await Promise.all(runsOf("folded", 20).map(async (run, index) => nodeOf(index).enqueue([run])))
      expect(await countsOf("folded")).toEqual({ ready: 600 })
      const connection = connect({ url, connectionsMax: 1 })
      const [row] = await connection.query(
        `select count(*)::int as rows from "${schema}".run_counts where job = 'folded'`,
        [],
      )
      await connection.close()
      expect(Number(row?.["rows"])).toBeLessThan(600)
    })
  },
)
