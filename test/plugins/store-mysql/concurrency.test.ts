// Several nodes over one database of a real server, at the same time: who wins is decided by the database, everybody is
// told, and what two do to the same rows in different orders ends all the same.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { expanding, flowOf, step } from "../../../core/contract/FlowStoreContract/fixtures.ts"
import { failure, newRun } from "../../../core/contract/Fixtures.ts"
import { fireAt, newSchedule } from "../../../core/contract/ScheduleStoreContract/fixtures.ts"
import { isFinal, type NewRun, type Run } from "../../../core/domain/Run.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { connect } from "../../../plugins/store-mysql/connect.ts"
import type { Connection } from "../../../plugins/store-mysql/Connection.ts"
import { fold } from "../../../plugins/store-mysql/counts.ts"
import { driverOver, mysqlDriver } from "../../../plugins/store-mysql/mod.ts"
import { databaseName, dropDatabases, durable, missing, placeOf, url } from "./server.ts"

let next = 1
/** Runs of a job that no other test claims. */
const runsOf = (job: string, count: number, fields: Partial<NewRun> = {}): ReadonlyArray<NewRun> =>
  Array.from({ length: count }, () => newRun(next++, { job, ...fields }))

describe.skipIf(missing !== null)(
  `MySQL with several nodes${missing === null ? "" : ` (${missing})`}`,
  () => {
    const database = databaseName()
    let nodes: ReadonlyArray<StoreDriver> = []
    let connection: Connection
    const [a, b] = [() => nodes[0] as StoreDriver, () => nodes[1] as StoreDriver]
    const nodeOf = (index: number): StoreDriver => nodes[index % nodes.length] as StoreDriver

    // Both at once, over a database that is not there: migrations are part of the race.
    beforeAll(async () => {
      connection = connect(placeOf(database), { connectionsMax: 2 })
      nodes = await Promise.all([1, 2].map(() => mysqlDriver({ url, database, connectionsMax: 6 })))
      for (let n = 0; n < 8; n++)
        await a().join({ id: `n${n}`, host: "h", pid: n, runtime: "test" }, 3_600_000)
    })
    afterAll(async () => {
      for (const node of nodes) await node.close()
      await connection.close()
      await dropDatabases()
    })

    const claim = (store: StoreDriver, job: string, limit = 1000, node = "n1") =>
      store.claim({ node, queues: ["default"], jobs: [job], limit, acknowledged: true })
    const statesOf = async (runs: ReadonlyArray<{ readonly id: string }>) =>
      (await a().get(runs.map(({ id }) => id))).map(({ state }) => state)
    const countsOf = async (job: string) =>
      Object.fromEntries(
        (await a().counts()).filter((row) => row.job === job).map(({ state, count }) => [state, count]),
      )
    const succeeding = ({ id, token }: Run) => ({ id, token, kind: "succeeded", output: null }) as const

    test("claim > eight claimers get each of 2,000 runs once, the most urgent ones first", async () => {
      const runs = runsOf("claimed", 2000).map((run, index) => ({ ...run, priority: index % 2 }))
      for (let from = 0; from < runs.length; from += 1000) await a().enqueue(runs.slice(from, from + 1000))
      const claimers = Array.from({ length: 8 }, async (_, index) => {
        const mine: Array<Run> = []
        for (;;) {
          const some = await claim(nodeOf(index), "claimed", 25, `n${index}`)
          if (some.length === 0) return mine
          mine.push(...some)
        }
      })
      const shares = await Promise.all(claimers)
      expect(
        shares
          .flat()
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual(runs.map(({ id }) => id))
      // There are enough urgent ones for everybody's first claim.
      for (const share of shares)
        expect(share.slice(0, 25).every(({ priority }) => priority === 1)).toBe(true)
      expect(await countsOf("claimed")).toEqual({ running: 2000 })
    })

    test("claim > of a node whose lease ends between its look and its taking nothing is left of it", async () => {
      await a().enqueue([...runsOf("late", 3), ...runsOf("late", 1, { dueAt: Date.now() - 1 })])
      const late = { id: "late", host: "h", pid: 1, runtime: "test" }
      await a().join(late, 60_000)
      const own: Connection = {
        ...connection,
        transaction: async (body) => {
          await a().leave("late")
          return connection.transaction(body)
        },
      }
      expect(await claim(driverOver(own, durable), "late", 10, "late")).toEqual([])
      expect(await countsOf("late")).toEqual({ ready: 4 })
      await a().join(late, 60_000)
      expect((await claim(a(), "late", 10, "late")).map(({ token, attempt }) => [token, attempt])).toEqual(
        Array.from({ length: 4 }, () => [1, 1]),
      )
    })

    test("settle > of two who settle the same runs, both hear what was done once", async () => {
      const runs = runsOf("settled", 100)
      await a().enqueue(runs)
      const held = await claim(a(), "settled")
      const settlements = held.map(
        ({ id, token }) => ({ id, token, kind: "failed", error: failure, retryInMillis: 0 }) as const,
      )
      const answers = await Promise.all([a().settle(settlements), b().settle(settlements.toReversed())])
      expect(answers.flat().filter(({ result }) => result === "settled")).toHaveLength(200)
      for (const { id } of runs.slice(0, 20)) expect(await a().attempts(id)).toHaveLength(1)
      expect(await countsOf("settled")).toEqual({ retrying: 100 })
    })

    test("settle > steps of one flow that end at the same time on several connections release their join once", async () => {
      const places = Array.from({ length: 24 }, (_, index) => `part${index}`)
      const flow = flowOf([
        ...places.map((id) => step(id, [], { job: "part" })),
        step("join", places, { job: "joined" }),
      ])
      const [root] = runsOf("flow", 1)
      await a().enqueue([root as NewRun])
      const [run] = await claim(a(), "flow")
      await a().settle([expanding(run as Run, flow)])
      const steps = await claim(a(), "part")
      expect(steps).toHaveLength(24)
      await Promise.all(steps.map(async (each, index) => nodeOf(index).settle([succeeding(each)])))
      const joins = await claim(b(), "joined")
      expect(joins).toHaveLength(1)
      await b().settle(joins.map(succeeding))
      expect(await statesOf([root as NewRun])).toEqual(["succeeded"])
      expect(await countsOf("part")).toEqual({ succeeded: 24 })
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
      for (let round = 1; round <= 5; round++) {
        const runs = runsOf("fired", 8)
        const answers = await Promise.all(
          runs.map(async (run, index) =>
            nodeOf(index).fire([fireAt({ id: "raced", version: round }, round * 1000, run)]),
          ),
        )
        expect(answers.flat().toSorted()).toEqual([...Array<string>(7).fill("conflict"), "fired"])
      }
      expect(await countsOf("fired")).toEqual({ ready: 5 })
      expect(await a().occurrences({ scheduleId: "raced", limit: 200 })).toHaveLength(5)
    })

    test("enqueue > of eight who ask for one key, one makes the run", async () => {
      for (let round = 0; round < 5; round++) {
        const runs = runsOf("keyed", 8, { key: `k${round}` })
        const answers = (
          await Promise.all(runs.map(async (run, index) => nodeOf(index).enqueue([run])))
        ).flat()
        expect(answers.filter(({ result }) => result === "created")).toHaveLength(1)
        expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
      }
      expect(await countsOf("keyed")).toEqual({ ready: 5 })
    })

    test("enqueue > the same batch from two, in opposite orders, is stored once, with keys and without", async () => {
      for (const key of [null, "s"]) {
        const job = `same ${key}`
        const runs = runsOf(job, 200).map((run, index) => ({
          ...run,
          key: key === null ? null : key + index,
        }))
        const answers = await Promise.all([a().enqueue(runs), b().enqueue(runs.toReversed())])
        expect(answers.flat().filter(({ result }) => result === "created")).toHaveLength(200)
        expect(await countsOf(job)).toEqual({ ready: 200 })
      }
    })

    test("needs > a run that is enqueued while its need ends does not wait for ever", async () => {
      for (let round = 0; round < 15; round++) {
        const [need, after] = runsOf("needed", 2) as [NewRun, NewRun]
        await a().enqueue([need])
        const [held] = (await claim(a(), "needed")) as [Run]
        await Promise.all([a().settle([succeeding(held)]), b().enqueue([{ ...after, needs: [need.id] }])])
        expect(await statesOf([after])).toEqual(["ready"])
        await claim(a(), "needed")
      }
    })

    test("cancel and settle > in opposite orders, over chains that hang together, all of them end", async () => {
      for (let round = 0; round < 5; round++) {
        const chains = Array.from({ length: 10 }, () => runsOf("crossed", 3) as [NewRun, NewRun, NewRun])
        const runs = chains.flatMap(([first, second, third]) => [
          first,
          { ...second, needs: [first.id] },
          { ...third, needs: [first.id, second.id] },
        ])
        await a().enqueue(runs)
        const held = await claim(a(), "crossed")
        const ids = runs.map(({ id }) => id)
        const ends = held.map(succeeding)
        await Promise.all([
          a().cancel(ids, "Not any more"),
          b().cancel(ids.toReversed(), "Not any more"),
          a().settle(ends.toReversed()),
          b().settle(ends),
        ])
        expect((await statesOf(runs)).every(isFinal)).toBe(true)
      }
      const counts = await countsOf("crossed")
      expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(150)
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
      const runs = runsOf("left", 100)
      await a().enqueue(runs)
      await a().join({ id: "gone", host: "h", pid: 1, runtime: "test" }, 60_000)
      await a().join({ id: "alive", host: "h", pid: 2, runtime: "test" }, 60_000)
      expect(await claim(a(), "left", 1000, "gone")).toHaveLength(100)
      await a().leave("gone")
      const again = async () => {
        const taken: Array<Run> = []
        while (taken.length < 100) {
          const some = await claim(b(), "left", 20, "alive")
          taken.push(...some)
          await b().settle(some.map(succeeding))
        }
        return taken
      }
      const reclaimAll = async (store: StoreDriver, self: string) => {
        const taken = []
        for (;;) {
          const some = (await store.reclaim(self, 50)).filter(({ job }) => job === "left")
          taken.push(...some)
          // A reclaimer passes over rows that the other has in hand.
          if (some.length === 0 && (await store.carried("gone", 1)).length === 0) return taken
        }
      }
      const [one, two, taken] = await Promise.all([reclaimAll(a(), "x"), reclaimAll(b(), "y"), again()])
      const reclaimed = [...one, ...two].map(({ id }) => id)
      expect(reclaimed.toSorted()).toEqual(runs.map(({ id }) => id))
      expect(taken).toHaveLength(100)
      expect(await countsOf("left")).toEqual({ succeeded: 100 })
    })

    test("counts > many small changes are folded while others write, and their sum stays", async () => {
      const rowsOf = async () =>
        Number((await connection.read("select count(*) as n from run_counts where job = 'folded'"))[0]?.["n"])
      const writing = Array.from({ length: 60 }, (_, index) => nodeOf(index).enqueue(runsOf("folded", 1)))
      await Promise.all([...writing, fold(connection), fold(connection)])
      // One passes over what another has in hand, so a few may be left: they end as one.
      while ((await rowsOf()) > 1) await fold(connection)
      expect(await countsOf("folded")).toEqual({ ready: 60 })
    })

    test("after all of it the tables agree with each other", async () => {
      const none = async (what: string, text: string) =>
        expect([what, await connection.read(text)]).toEqual([what, []])
      await none(
        "runs in neither place, or in both",
        `select r.id from runs as r left join live as l on l.id = r.id
      left join ended as e on e.id = r.id where (l.id is null) = (e.id is null)`,
      )
      await none(
        "rows without a run",
        `select id from (select id from live union all select id from ended) as row_of
      where id not in (select id from runs)`,
      )
      await none(
        "keys of runs that have ended",
        "select * from `keys` where run_id not in (select id from live where keyed = 1)",
      )
      await none(
        "runs that use no key of theirs",
        "select id from live where keyed = 1 and id not in (select run_id from `keys`)",
      )
      await none(
        "runs that wait although they have ended",
        "select * from dependents where run_id not in (select id from live)",
      )
      await none(
        "letters of runs that are not dead",
        `select run_id from dead_letters
      where run_id not in (select id from ended where state = 'dead')`,
      )
      await none(
        "counts that are not so",
        `select job, state, sum(count) from (
        select job, state, count from run_counts union all select job, state, -1 from live
        union all select r.job, e.state, -1 from ended as e join runs as r on r.id = e.id) as counted
      group by job, state having sum(count) <> 0`,
      )
      expect((await connection.read("select count(*) as n from ended"))[0]?.["n"]).toBeGreaterThan(200)
    })
  },
)
