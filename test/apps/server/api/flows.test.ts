// Flows over HTTP, on a real engine: the graph of one, where a run of it stands, and what people do to it by hand.
import { afterAll, beforeAll, expect, test } from "vitest"
import { flow, job } from "uhrwerk"
import { flowHandlers } from "../../../../apps/server/api/flows.ts"
import { until } from "../project.ts"
import { callAs, callerOf } from "./callers.ts"
import { startWorld, type World } from "./world.ts"

let world: World
let isBroken = true
const release: Array<() => void> = []

const etl = flow("etl.daily", { retry: { max: 1 } }, (f) => {
  const extract = f.step("extract", { run: () => ({ rows: 10 }) })
  const check = f.step("check", {
    needs: { extract },
    retry: { max: 1 },
    run: () => {
      if (isBroken) throw new Error("no connection")
    },
  })
  f.step("load", { needs: { extract, check }, run: ({ extract }) => extract.rows })
})
const held = flow("etl.held", {}, (f) => {
  const wait = f.step("wait", { run: () => new Promise<void>((resolve) => release.push(resolve)) })
  f.step("after", { needs: { wait }, run: () => "after" })
})
const wide = flow("wide", {}, (f) => {
  for (let each = 0; each < 450; each++) f.step(`step-${each}`, { run: () => each })
})

beforeAll(async () => {
  world = await startWorld({
    jobs: [etl, held, wide, job("plain", { run: () => 1 })],
    storage: "memory:",
    poll: "50ms",
  })
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.stop()
})

const send = async (name: string, more: object = {}): Promise<string> =>
  (await world.ask("POST", "/v1/runs", { job: name, ...more })).body.id
const flowOf = async (id: string, query = "") => (await world.ask("GET", `/v1/runs/${id}/flow${query}`)).body
const ended = async (id: string, state: string) =>
  until(
    `${state} of ${id}`,
    () => flowOf(id),
    (answer) => answer.state === state,
  )

test("listFlows > the flows of the config by name, in pages", async () => {
  const first = await world.ask("GET", "/v1/flows?limit=2")
  expect(first.status).toBe(200)
  expect(first.body.items).toMatchObject([
    { name: "etl.daily", steps: 3, queue: "default", schedules: [] },
    { name: "etl.held", steps: 2 },
  ])
  const second = await world.ask("GET", `/v1/flows?limit=2&cursor=${first.body.cursor}`)
  expect([second.body.items.map(({ name }: any) => name), second.body.cursor]).toEqual([["wide"], null])
  expect((await world.ask("GET", "/v1/flows?cursor=abc")).body.code).toBe("badCursor")
})

test("getFlow > as a graph, with layers and rules", async () => {
  const { status, body } = await world.ask("GET", "/v1/flows/etl.daily")
  expect([status, body.name, body.layers]).toEqual([200, "etl.daily", 3])
  expect(body.nodes).toMatchObject([
    { id: "extract", layer: 1, needs: [], rule: "all_success", job: "etl.daily/extract" },
    { id: "check", layer: 2, needs: ["extract"] },
    { id: "load", layer: 3, needs: ["extract", "check"] },
  ])
  expect(body.edges).toEqual([
    { from: "extract", to: "check" },
    { from: "extract", to: "load" },
    { from: "check", to: "load" },
  ])
})

test("getFlow > as a drawing", async () => {
  const mermaid = await world.ask("GET", "/v1/flows/etl.daily?format=mermaid")
  expect(mermaid.headers.get("content-type")).toBe("text/plain; charset=utf-8")
  expect(mermaid.text).toMatch(/^flowchart TD\n {2}s0\["extract"\]\n/)
  const dot = await world.ask("GET", "/v1/flows/etl.daily?format=dot")
  expect(dot.text).toMatch(/^digraph flow \{\n[^]*s0 -> s1\n[^]*\}\n$/)
  expect((await world.ask("GET", "/v1/flows/etl.daily?format=png")).status).toBe(422)
})

test("getFlow > what is no flow is not there", async () => {
  for (const name of ["plain", "none", "etl.daily%2Fextract"])
    expect((await world.ask("GET", `/v1/flows/${name}`)).body.code).toBe("notFound")
})

test("rerunFlow > a run that failed is done again from what failed, and the others keep their output", async () => {
  isBroken = true
  const id = await send("etl.daily")
  const failed = await ended(id, "dead")
  expect(failed).toMatchObject({ kind: "flow", job: "etl.daily", steps: 3, round: 1, cursor: null })
  expect(failed.counts).toEqual({ succeeded: 1, failed: 1, upstream_failed: 1 })
  expect(failed.items).toMatchObject([
    { id: "extract", state: "succeeded", attempt: 1 },
    { id: "check", state: "failed", reason: "Error: no connection" },
    { id: "load", state: "upstream_failed", reason: 'not run, as "check" failed', runId: null },
  ])
  isBroken = false
  const again = await world.ask("POST", `/v1/runs/${id}/rerun`)
  expect([again.status, again.body.replayOf]).toEqual([200, id])
  expect(again.headers.get("location")).toBe(`/v1/runs/${again.body.id}`)
  const done = await ended(again.body.id, "succeeded")
  expect(done.items[0]).toMatchObject({ state: "succeeded", reason: "kept", millis: null })
  expect(done.replayOf).toBe(id)
  expect(done.criticalPath.millis).toBeGreaterThanOrEqual(0)
  expect((await world.ask("POST", `/v1/runs/${id}/rerun`, {})).body.id).toBe(again.body.id)
  const from = await world.ask("POST", `/v1/runs/${again.body.id}/rerun`, { from: ["load"] })
  expect((await ended(from.body.id, "succeeded")).items.map(({ reason }: any) => reason)).toEqual([
    expect.stringMatching(/^kept/),
    expect.stringMatching(/^kept/),
    null,
  ])
})

test("rerunFlow > what cannot be run again is refused, with the reason", async () => {
  const id = await send("etl.held")
  await until(
    "a step",
    () => flowOf(id),
    (answer) => answer.items[0]?.state === "running",
  )
  const running = await world.ask("POST", `/v1/runs/${id}/rerun`)
  expect([running.status, running.body.code]).toEqual([409, "conflict"])
  const [step] = (await flowOf(id)).items
  await until(
    "its begin",
    () => release.length,
    (count) => count > 0,
  )
  release.splice(0).forEach((go) => go())
  const done = await ended(id, "succeeded")
  const nothing = await world.ask("POST", `/v1/runs/${id}/rerun`, { from: "failed" })
  expect([nothing.status, nothing.body.code]).toEqual([409, "conflict"])
  expect((await world.ask("POST", `/v1/runs/${id}/rerun`, { from: ["nope"] })).body.code).toBe("invalidInput")
  expect((await world.ask("POST", `/v1/runs/${id}/rerun`, { from: [] })).body.code).toBe("invalidBody")
  expect((await world.ask("POST", `/v1/runs/${step.runId}/rerun`)).body.code).toBe("notFound")
  expect(done.counts).toEqual({ succeeded: 2 })
})

test("markStep > a step that hangs is ended by hand, and what needs it goes on", async () => {
  const id = await send("etl.held")
  await until(
    "a step",
    () => flowOf(id),
    (answer) => answer.items[0]?.state === "running",
  )
  const mark = { step: "wait", as: "succeeded", reason: "done by hand", output: null }
  const marked = await world.ask("POST", `/v1/runs/${id}/mark`, mark)
  expect([marked.status, marked.body]).toEqual([200, { id, step: "wait", state: "succeeded" }])
  expect((await ended(id, "succeeded")).items).toMatchObject([
    { id: "wait", state: "succeeded", reason: "done by hand" },
    { id: "after", state: "succeeded" },
  ])
  expect((await world.ask("POST", `/v1/runs/${id}/mark`, mark)).body.code).toBe("conflict")
  const other = { ...mark, step: "none" }
  expect((await world.ask("POST", `/v1/runs/${id}/mark`, other)).body.code).toBe("invalidInput")
  const skipped = { ...mark, as: "skipped", output: 1 }
  expect((await world.ask("POST", `/v1/runs/${id}/mark`, skipped)).body.code).toBe("invalidInput")
  expect((await world.ask("POST", `/v1/runs/${id}/mark`, { ...mark, as: "failed" })).body.code).toBe(
    "invalidBody",
  )
})

test("getFlowRun > many steps come in pages, the counts are of all", async () => {
  const id = await send("wide")
  await ended(id, "succeeded")
  const seen: Array<string> = []
  let cursor: string | null = null
  do {
    const body: any = await flowOf(id, `?limit=200${cursor === null ? "" : `&cursor=${cursor}`}`)
    expect([body.steps, body.counts]).toEqual([450, { succeeded: 450 }])
    expect(body.criticalPath === null).toBe(cursor !== null)
    seen.push(...body.items.map(({ id }: any) => id))
    cursor = body.cursor
  } while (cursor !== null)
  expect(seen).toEqual(Array.from({ length: 450 }, (_, each) => `step-${each}`))
  expect((await world.ask("GET", `/v1/runs/${id}/flow?cursor=x`)).body.code).toBe("badCursor")
})

test("getFlowRun > one that has not begun has no steps yet, and what is no flow run has none", async () => {
  const id = await send("etl.daily", { delay: "1h" })
  expect(await flowOf(id)).toMatchObject({ state: "scheduled", round: 0, steps: 0, items: [], cursor: null })
  for (const action of ["rerun", "mark"])
    expect(
      (
        await world.ask(
          "POST",
          `/v1/runs/${id}/${action}`,
          action === "mark" ? { step: "a", as: "skipped", reason: "b" } : undefined,
        )
      ).body.code,
    ).toBe("conflict")
  const plain = await send("plain")
  expect((await world.ask("GET", `/v1/runs/${plain}/flow`)).body.code).toBe("notFound")
  expect((await world.ask("GET", "/v1/runs/none/flow")).body.code).toBe("notFound")
})

test("a caller with a namespace sees its flows only, and runs of others are not there", async () => {
  const [etlCaller, other] = [callerOf("etl"), callerOf("ops")]
  const list = await callAs(flowHandlers.listFlows, world.parts, etlCaller, {})
  expect(list.body.items.map(({ name }: any) => name)).toEqual(["etl.daily", "etl.held"])
  expect((await callAs(flowHandlers.listFlows, world.parts, other, {})).body.items).toEqual([])
  const id = await send("wide")
  await ended(id, "succeeded")
  const params = { id }
  const mark = { step: "step-0", as: "skipped", reason: "a" } as const
  for (const caller of [etlCaller, other])
    expect([
      await callAs(flowHandlers.getFlow, world.parts, caller, { params: { name: "wide" } }),
      await callAs(flowHandlers.getFlowRun, world.parts, caller, { params }),
      await callAs(flowHandlers.rerunFlow, world.parts, caller, { params, body: { from: ["step-0"] } }),
      await callAs(flowHandlers.markStep, world.parts, caller, { params, body: mark }),
    ]).toEqual(Array.from({ length: 4 }, () => ({ status: 404, code: "notFound" })))
  expect((await callAs(flowHandlers.getFlowRun, world.parts, callerOf("wide"), { params })).status).toBe(200)
})
