// The logic that all SQL databases share, driven over a database that answers later: SQLite's tables behind promises.
// What they are asked for is noted, as some of it must come in order where others work on the same rows.
import { expect, test } from "vitest"
import { Definitions } from "../../../adapters/store-sql/Definitions.ts"
import { storeRun } from "../../../adapters/store-sql/enqueue.ts"
import { fireOne } from "../../../adapters/store-sql/fire.ts"
import { markStep, rerunFlow } from "../../../adapters/store-sql/flows.ts"
import { settleOne } from "../../../adapters/store-sql/settle.ts"
import { runAsync, runSync, type Sql, wait, waitAll } from "../../../adapters/store-sql/Sql.ts"
import { openDatabase } from "../../../adapters/store-sql/sqlite/Database.ts"
import { openSession } from "../../../adapters/store-sql/sqlite/Session.ts"
import { driverOver } from "../../../adapters/store-sql/sqlite.ts"
import type { Tables } from "../../../adapters/store-sql/Tables.ts"
import { cancel, each, replay } from "../../../adapters/store-sql/upkeep.ts"
import { Work } from "../../../adapters/store-sql/Work.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import { claim, expand, flowOf, lost, stepOf } from "./flowFixtures.ts"
import { now } from "./folder.ts"

/** A store in memory, and its shared logic over tables that answer later; `asked` has the calls as `table.method`. */
const later = () => {
  const database = openDatabase({ file: ":memory:" })
  const store = driverOver(database, { file: ":memory:", now })
  void store.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 1e12)
  const { tables } = openSession(database, now)
  const asked: Array<{ readonly name: string; readonly first: unknown }> = []
  const promising = <T extends object>(table: T, name: string): T =>
    new Proxy(table, {
      get: (target, key) => {
        const method = target[key as keyof T] as (...args: ReadonlyArray<unknown>) => unknown
        return async (...args: ReadonlyArray<unknown>) => {
          asked.push({ name: `${name}.${String(key)}`, first: args[0] })
          await Promise.resolve()
          return method(...args)
        }
      },
    })
  const promised: Tables = {
    now,
    runs: promising(tables.runs, "runs"),
    flows: promising(tables.flows, "flows"),
    schedules: promising(tables.schedules, "schedules"),
  }
  const run = async <A>(body: (work: Work) => Sql<A>): Promise<A> => {
    asked.length = 0
    const work = new Work(promised, new Definitions())
    const value = await runAsync(body(work))
    await runAsync(work.finish())
    return value
  }
  const indexOf = (name: string, id?: string): number =>
    asked.findIndex(
      (call) =>
        call.name === name && (id === undefined || (call.first as ReadonlyArray<string>).includes(id)),
    )
  return { store, run, asked, indexOf }
}

test("a step that fails moves its flow, its needs and its counts, as over a database that answers at once", async () => {
  const { store, run } = later()
  const id = await expand(store, 1, flowOf("f", [stepOf("a"), stepOf("b", ["a"]), stepOf("c", ["b"])]))
  await run((work) => storeRun(work, newRun(2, { needs: [id] })))
  const [step] = await claim(store)
  const settled = await run((work) => settleOne(work, lost(step!)))
  expect(settled).toMatchObject({ result: "settled", state: "dead" })
  const view = await store.flowOf(id)
  expect(view?.run).toMatchObject({ state: "dead", waitingFor: 0, error: { name: "StepsFailed" } })
  expect(view?.steps.map(({ state }) => state)).toEqual(["failed", "upstream_failed", "upstream_failed"])
  expect(await store.get([runId(2)])).toMatchObject([{ state: "skipped" }])
  expect(await store.counts()).toEqual(
    expect.arrayContaining([
      { job: "flow", state: "dead", count: 1 },
      { job: "report", state: "skipped", count: 1 },
      { job: "step", state: "dead", count: 1 },
    ]),
  )
})

test("whatever ends runs has locked them before it reads the first of them, also when it is only one", async () => {
  const { store, run, indexOf } = later()
  const expectLocked = (what: string, id: string): void => {
    expect(indexOf("runs.lock", id), what).toBeGreaterThanOrEqual(0)
    const reads = ["runs.find", "flows.expansions"].map((name) => indexOf(name, id)).filter((at) => at >= 0)
    expect(reads, what).not.toEqual([])
    expect(Math.min(...reads), what).toBeGreaterThan(indexOf("runs.lock", id))
  }
  const flow = flowOf("f", [stepOf("a"), stepOf("b")])
  const id = await expand(store, 1, flow)
  const [a, b] = await claim(store)
  await run((work) =>
    each(
      work,
      [lost(a!)],
      (each) => each.id,
      (settlement) => settleOne(work, settlement),
    ),
  )
  expectLocked("settle", a!.id)
  await run((work) =>
    markStep(work, {
      runId: id,
      step: b!.step === 0 ? "a" : "b",
      end: "skipped",
      reason: "no",
      output: null,
    }),
  )
  expectLocked("markStep", id)
  await run((work) => rerunFlow(work, id, runId(3), "failed"))
  expectLocked("rerunFlow", id)
  await run((work) => cancel(work, [runId(3)], "why"))
  expectLocked("cancel", runId(3))

  await store.enqueue([newRun(4), newRun(5)])
  for (const each of await claim(store, ["report"]))
    if (each.id === runId(4)) await store.settle([lost(each)])
  await run((work) => replay(work, [runId(4)], [runId(6)]))
  expectLocked("replay", runId(4))
  const trigger = { kind: "every", periodMillis: 1000, startAt: null } as const
  const place = { cursor: now(), nextAt: now(), zoneData: null, createdAt: now() }
  await store.putSchedules([
    { id: "s", job: "report", trigger, input: null, overlap: "cancelRunning", fromConfig: true, ...place },
  ])
  const fire = {
    ...place,
    scheduleId: "s",
    version: 1,
    waitsUntil: null,
    occurrences: [],
    runs: [],
    lastRunId: null,
  }
  expect(await run((work) => fireOne(work, { ...fire, cancelRunId: runId(5) }))).toBe("fired")
  expectLocked("fire", runId(5))
})

test("a batch is read together: a hundred cancelled steps of a flow cost few calls", async () => {
  const { store, run, asked } = later()
  const steps = Array.from({ length: 100 }, (_, index) => stepOf(`s${index}`))
  const id = await expand(store, 1, flowOf("wide", [...steps, stepOf("last", ["s0", "s1"])]))
  const ids = (await claim(store)).map((each) => each.id)
  expect(ids).toHaveLength(100)
  await run((work) => cancel(work, ids, "why"))
  expect(asked.length).toBeLessThan(20)
  expect(await store.get([id])).toMatchObject([{ state: "dead" }])
})

test("runAsync throws what a promise was rejected with where the logic waits; runSync refuses a promise", async () => {
  const broken = (): Promise<number> => Promise.reject(new Error("gone"))
  function* logic(): Sql<string> {
    try {
      return String(yield* wait(broken()))
    } catch (error) {
      yield* waitAll([Promise.resolve(1), 2])
      return `caught: ${(error as Error).message}`
    }
  }
  expect(await runAsync(logic())).toBe("caught: gone")
  await expect(runAsync(wait(broken()))).rejects.toThrow("gone")
  expect(runSync(wait(7))).toBe(7)
  expect(() => runSync(wait(Promise.resolve(7)))).toThrow("A synchronous database answered with a promise")
})
