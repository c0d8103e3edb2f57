// What is special to flows in a file: rows only for what was reached, one definition for many runs, one transaction for
// all that follows from an end, and nothing lost between any two steps.
import { DatabaseSync } from "node:sqlite"
import { describe, expect, test } from "vitest"
import { openDatabase } from "../../../adapters/store-sql/sqlite/Database.ts"
import { Definitions } from "../../../adapters/store-sql/Definitions.ts"
import { runSync } from "../../../adapters/store-sql/Sql.ts"
import { makeFlowTable } from "../../../adapters/store-sql/sqlite/FlowTable.ts"
import { driverOver, sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { Expansion } from "../../../core/domain/Flow.ts"
import type { Settlement } from "../../../core/domain/Outcome.ts"
import type { Run } from "../../../core/domain/Run.ts"
import {
  chain,
  claim,
  drain,
  expand,
  flowOf,
  job,
  lost,
  memory,
  statesOf,
  stepOf,
  won,
} from "./flowFixtures.ts"
import { now, testFolder } from "./folder.ts"

const file = testFolder()

describe("rows", () => {
  test("a flow of 10,000 steps costs what is released: one run and one step of a chain", async () => {
    const { store, count } = memory()
    const id = await expand(store, 1, flowOf("chain", chain(10_000)))
    expect([count("runs"), count("steps"), count("expansions"), count("definitions")]).toEqual([2, 1, 1, 1])
    expect((await store.get([id]))[0]).toMatchObject({ state: "blocked", waitingFor: 10_000 })
    await store.settle((await claim(store)).map(won))
    expect([count("runs"), count("steps")]).toEqual([3, 2])
    expect((await store.get([id]))[0]).toMatchObject({ waitingFor: 9_999 })
  })

  test("a join's needs that end in one batch are one write of its counters", async () => {
    const { store, database } = memory()
    const needs = Array.from({ length: 300 }, (_, index) => `n${index}`)
    const id = await expand(
      store,
      1,
      flowOf("join", [...needs.map((need) => stepOf(need)), stepOf("join", needs)]),
    )
    await store.settle((await claim(store, ["step"], 299)).map(won))
    const row = "select state, succeeded, failed, skipped from steps where step = 300"
    expect(database.prepare(row).get()).toEqual({ state: "blocked", succeeded: 299, failed: 0, skipped: 0 })
    await store.settle((await claim(store)).map(won))
    expect((await claim(store)).map(({ parentId, step }) => [parentId, step])).toEqual([[id, 300]])
  })

  test("a definition is kept once for its name and version, and goes with the last flow run that has it", async () => {
    let millis = now()
    const { store, count } = memory(() => millis)
    const first = flowOf("nightly", chain(2))
    const second: Expansion = { ...flowOf("nightly", chain(3), { version: "2" }) }
    for (const [index, expansion] of [first, first, second].entries())
      await expand(store, index + 1, expansion)
    expect(count("definitions")).toBe(2)
    await store.cancel([runId(1)], "why")
    millis += 10
    // The flow run and the run of its first step.
    expect(await store.prune(millis, 100)).toBe(2)
    expect([count("definitions"), count("expansions"), count("steps"), count("runs")]).toEqual([2, 2, 2, 4])
    await store.cancel([runId(2), runId(3)], "why")
    millis += 10
    // One after the other, as a flow run goes before the runs of its steps.
    expect([await store.prune(millis, 1), await store.prune(millis, 1)]).toEqual([1, 1])
    expect(await store.prune(millis, 100)).toBe(2)
    expect(["definitions", "expansions", "steps", "runs"].map(count)).toEqual([0, 0, 0, 0])
    // The id of a definition that has gone may be used again; its plan is not.
    const id = await expand(store, 9, flowOf("other", chain(1)))
    expect(await statesOf(store, id)).toEqual(["released"])
    await drain(store)
    expect((await store.get([id]))[0]).toMatchObject({ state: "succeeded" })
  })

  test("an id that two sessions gave to different definitions names in each the one that is in the file", async () => {
    const path = file("two.db")
    let millis = now()
    const [one, two] = [1, 2].map(() =>
      driverOver(openDatabase({ file: path }), { file: path, now: () => millis }),
    )
    if (one === undefined || two === undefined) throw new Error("not opened")
    await one.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 1e12)
    await expand(one, 1, flowOf("first", chain(2)))
    await one.cancel([runId(1)], "why")
    millis += 10
    await two.prune(millis, 100)
    const id = await expand(two, 2, flowOf("second", chain(3)))
    expect(await statesOf(one, id)).toEqual(["released", "blocked", "blocked"])
    await one.close()
    await two.close()
  })

  test("plans are kept until others have taken their room", () => {
    const database = openDatabase({ file: ":memory:" })
    const definitions = new Definitions(10_000)
    const table = makeFlowTable(database)
    const enter = (name: string) => runSync(definitions.enter(table, flowOf(name, chain(15))))
    const first = enter("first")
    enter("second")
    expect(enter("first").plan).toBe(first.plan)
    enter("third")
    expect(enter("first").plan).toBe(first.plan)
    // Far more than all of them.
    enter("fourth")
    enter("fifth")
    expect(enter("first").plan).not.toBe(first.plan)
    expect(enter("first").key).toEqual(first.key)
    database.close()
  })
})

describe("one transaction", () => {
  const failFast = flowOf("fast", [stepOf("a"), stepOf("b"), stepOf("c", ["a"])], { failFast: true })

  test("a settlement of a step that an earlier one of the batch has called off is stale", async () => {
    const { store } = memory()
    const id = await expand(store, 1, failFast)
    // Ids of steps are in no order.
    const held = [...(await claim(store))].sort((a, b) => Number(a.step) - Number(b.step))
    const settled = await store.settle(held.map((run) => (run.step === 0 ? lost(run) : won(run))))
    expect(settled.map(({ result, state }) => [result, state])).toEqual([
      ["settled", "dead"],
      ["stale", "cancelled"],
    ])
    expect((await store.get([id]))[0]).toMatchObject({ state: "dead", waitingFor: 0 })
    expect(await statesOf(store, id)).toEqual(["failed", "failed", "upstream_failed"])
  })

  test("steps of a lost node: the second, cancelled with the first, is not reclaimed as well", async () => {
    let millis = now()
    const { store, count } = memory(() => millis)
    await store.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 1_000)
    const id = await expand(store, 1, failFast)
    await claim(store)
    millis += 2_000
    const taken = await store.reclaim("n2", 100)
    expect(taken.map(({ state }) => state)).toEqual(["dead"])
    expect((await store.get([id]))[0]).toMatchObject({ state: "dead" })
    expect([count("runs where state = 'cancelled'"), count("runs where state = 'dead'")]).toEqual([1, 2])
    expect(count("dead_letters")).toBe(1)
  })

  test("one that is refused leaves nothing behind, in the file or in the session", async () => {
    const { store } = memory()
    const id = await expand(store, 1, flowOf("two", chain(2)))
    await store.enqueue([newRun(2, { job: "flow" })])
    const [step] = await claim(store)
    const [other] = await claim(store, ["flow"])
    if (step === undefined || other === undefined) throw new Error("not claimed")
    const expansion = flowOf("circle", [stepOf("a", ["b"]), stepOf("b", ["a"])])
    const circle: Settlement = {
      id: other.id,
      token: other.token,
      kind: "expanded",
      expansion,
      retryInMillis: null,
    }
    expect(() => store.settle([won(step), circle])).toThrow(/circle/)
    expect(await statesOf(store, id)).toEqual(["released", "blocked"])
    expect((await store.get([id]))[0]).toMatchObject({ waitingFor: 2 })
    expect(await store.settle([won(step)])).toMatchObject([{ result: "settled", state: "succeeded" }])
    expect(await statesOf(store, id)).toEqual(["succeeded", "released"])
    expect((await store.get([id]))[0]).toMatchObject({ waitingFor: 1 })
  })

  test("cancelling a step and what it releases, in one call", async () => {
    const { store } = memory()
    const id = await expand(
      store,
      1,
      flowOf("after", [stepOf("a"), stepOf("b", ["a"], { rule: "all_done" })]),
    )
    const [a] = await claim(store)
    const before = await store.flowOf(id)
    expect(before?.steps[1]).toMatchObject({ state: "blocked", runId: null })
    // The id of a step's run follows from its flow run, so it can be known before there is one.
    const other = memory()
    await expand(other.store, 1, flowOf("after", [stepOf("a"), stepOf("b", ["a"], { rule: "all_done" })]))
    await drain(other.store)
    const b = (await other.store.flowOf(id))?.steps[1]?.runId ?? ""
    expect(await store.cancel([a?.id ?? "", b], "why")).toMatchObject([
      { result: "cancelled" },
      { result: "cancelled" },
    ])
    expect(await statesOf(store, id)).toEqual(["failed", "failed"])
    expect((await store.get([id]))[0]).toMatchObject({ state: "dead" })
  })

  test("a claim gives out what a deadline that it found has released", async () => {
    let millis = now()
    const { store } = memory(() => millis)
    const outer = [stepOf("inner", [], { job: "inner" }), stepOf("mend", ["inner"], { rule: "one_failed" })]
    await expand(store, 1, flowOf("outer", outer))
    const [inner] = await claim(store, ["inner"])
    const expansion = flowOf("inner", chain(2), { timeoutMillis: 1_000 })
    await store.settle([
      { id: inner?.id ?? "", token: inner?.token ?? 0, kind: "expanded", expansion, retryInMillis: null },
    ])
    millis += 1_000
    expect((await claim(store)).map(({ parentId, step }) => [parentId, step])).toEqual([[runId(1), 1]])
  })

  test("what was never reached when its flow run was cancelled is kept as that by a re-run, and read as that", async () => {
    const { store } = memory()
    const steps = [stepOf("a"), stepOf("b", ["a"]), stepOf("c"), stepOf("d", ["c"], { rule: "one_success" })]
    const id = await expand(
      store,
      1,
      flowOf("two", [...steps, stepOf("e", ["a", "c"], { rule: "one_success" })]),
    )
    const held = await claim(store)
    await store.settle(held.filter(({ step }) => step === 2).map(won))
    const e = (await claim(store)).find(({ step }) => step === 4)?.id ?? ""
    const needs = async () => (await store.stepInputs([e]))[0]?.needs.map(({ state }) => state)
    expect(await needs()).toEqual(["released", "succeeded"])
    await store.cancel([id], "why")
    expect(await needs()).toEqual(["failed", "succeeded"])
    await store.rerunFlow(id, runId(2), ["d"])
    const kept = ["failed", "upstream_failed", "succeeded", "released", "failed"]
    expect(await statesOf(store, runId(2))).toEqual(kept)
    expect((await store.get([runId(2)]))[0]).toMatchObject({ state: "blocked", waitingFor: 1 })
    await drain(store)
    expect((await store.get([runId(2)]))[0]?.error?.message).toMatch(/^3 of 5 steps failed: "a", "b", "e"/)
  })
})

describe("a file that is closed and opened again", () => {
  test("after every call, in the middle of rounds, flows in flows and lists", async () => {
    const path = file("again.db")
    let millis = now()
    let store = sqliteDriver({ file: path, now: () => millis })
    const again = async (): Promise<void> => {
      await store.close()
      store = sqliteDriver({ file: path, now: () => millis })
    }
    const list: Expansion = {
      kind: "map",
      step: { ...job, job: "item" },
      items: ["1", "2", "3"],
      failFast: false,
    }
    const inner = flowOf("inner", [stepOf("x"), stepOf("list", ["x"], { job: "list" })], { output: "list" })
    const outer = flowOf(
      "outer",
      [
        stepOf("a"),
        stepOf("inner", ["a"], { job: "inner", attemptMax: 2 }),
        stepOf("c", ["inner"]),
        stepOf("d", ["a"], { rule: "one_failed" }),
      ],
      { output: "inner", timeoutMillis: 60_000 },
    )
    await store.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 1e12)
    await store.enqueue([newRun(1, { job: "flow" })])
    const ran = new Map<string, number>()
    const settle = (run: Run): Settlement => {
      const held = { id: run.id, token: run.token }
      const expandBy = (expansion: Expansion): Settlement => ({
        ...held,
        kind: "expanded",
        expansion,
        retryInMillis: 5,
      })
      const key = `${run.job} ${run.input ?? run.step}`
      ran.set(key, (ran.get(key) ?? 0) + 1)
      if (run.job === "flow") return expandBy(outer)
      if (run.job === "inner") return expandBy(inner)
      if (run.job === "list") return expandBy(list)
      // The second item fails in the first round, and with it the list and the inner flow.
      if (run.job === "item" && run.input === "2" && ran.get(key) === 1) return lost(run)
      return { ...held, kind: "succeeded", output: run.input }
    }
    for (let rounds = 0; rounds < 100; rounds++) {
      await again()
      const held = await claim(store, ["flow", "inner", "list", "item", "step"], 1)
      await again()
      for (const run of held) await store.settle([settle(run)])
      millis += 1
    }
    expect((await store.get([runId(1)]))[0]).toMatchObject({ state: "succeeded", output: "[1,2,3]" })
    expect(await statesOf(store, runId(1))).toEqual(["succeeded", "succeeded", "succeeded", "skipped"])
    // The inner flow's second round kept "x"; its list is a new run, with all items anew.
    expect(Object.fromEntries(ran)).toEqual({
      "flow null": 1,
      "step 0": 2,
      "inner 1": 2,
      "list 1": 2,
      "item 1": 2,
      "item 2": 2,
      "item 3": 2,
      "step 2": 1,
    })
    await store.close()
    const sqlite = new DatabaseSync(path, { readOnly: true })
    const open = "select count(*) as n from runs where ended_at is null"
    expect(sqlite.prepare(open).get()).toEqual({ n: 0 })
    const counts = sqlite.prepare("select sum(count) as n from run_counts where state <> 'succeeded'").get()
    const others = sqlite.prepare("select count(*) as n from runs where state <> 'succeeded'").get()
    expect(counts).toEqual(others)
    sqlite.close()
  })
})
