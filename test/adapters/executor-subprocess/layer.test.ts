// In the style of Effect: an engine whose executor runs programs, or makes requests, and ends them with its scope.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { expect, test } from "vitest"
import { checkCommand, checkRequest, checkRules, layerHttp, layerSubprocess } from "uhrwerk/executors"
import { defaultRetryPolicy, Engine, engineDefaults, Notifier, RunStore } from "uhrwerk/effect"
import { layerMemory } from "uhrwerk/memory"
import { parseJobs } from "../../../core/domain/Job.ts"
import type { Executor } from "../../../core/ports/Executor.ts"
import { serve, closeAll } from "../executor-http/servers.ts"
import { aliveWith } from "./programs.ts"

const engineOf = (executor: Layer.Layer<Executor>) => {
  const job = {
    name: "report",
    queue: "default",
    priority: 0,
    retry: defaultRetryPolicy,
    timeoutMillis: null,
    needs: [],
  }
  const identity = { host: "localhost", pid: 0, runtime: "test" }
  const book = Result.getOrThrow(parseJobs([job]))
  return Engine.layer({ ...engineDefaults, identity, book, schedules: [] }).pipe(
    Layer.provide(executor),
    Layer.provideMerge(Layer.mergeAll(layerMemory, Notifier.layerLocal)),
  )
}

const program = Effect.gen(function* () {
  const engine = yield* Engine
  const { id } = yield* engine.enqueue({ job: "report", input: '{"a":1}', delayMillis: 0, dueAt: null })
  const store = yield* RunStore
  const look = Effect.map(store.get([id]), ([run]) => run)
  return yield* Effect.repeat(Effect.delay(look, 20), {
    until: (run) => run?.state === "succeeded" || run?.state === "dead",
    times: 500,
  })
})

test("layerSubprocess > runs programs", async () => {
  const spec = Result.getOrThrow(checkCommand("job", "cat", [], { output: "json" }, ["cat"]))
  const layer = layerSubprocess(new Map([["report", { spec }]]), { log: () => {}, report: () => {} })
  const run = await Effect.runPromise(Effect.provide(program, engineOf(layer)))
  expect(run).toMatchObject({ state: "succeeded", output: '{"a":1}' })
})

test("layerSubprocess > a scope that ends without a drain ends its programs", async () => {
  const mark = `65.${process.pid}`
  const args = ["-c", `echo up; sleep ${mark}`]
  const spec = Result.getOrThrow(checkCommand("job", "/bin/sh", args, { pass: ["PATH"] }, ["/bin/sh"]))
  const heard: { up?: () => void } = {}
  const up = new Promise<void>((resolve) => {
    heard.up = resolve
  })
  const layer = layerSubprocess(new Map([["report", { spec }]]), {
    log: () => heard.up?.(),
    report: () => {},
  })
  const begun = Effect.gen(function* () {
    yield* (yield* Engine).enqueue({ job: "report", input: null, delayMillis: 0, dueAt: null })
    yield* Effect.promise(() => up)
  })
  await Effect.runPromise(Effect.provide(begun, engineOf(layer)))
  expect(aliveWith(`sleep ${mark}`)).toEqual([])
})

test("layerHttp > makes requests", async () => {
  const { port } = await serve(({ body }, response) => response.end(body))
  const origin = `http://127.0.0.1:${port}`
  const rules = Result.getOrThrow(checkRules("rules", { origins: [origin], networks: ["127.0.0.1"] }))
  const spec = Result.getOrThrow(checkRequest("job", origin, { output: "json" }, rules))
  const layer = layerHttp(new Map([["report", { spec }]]), { rules })
  const run = await Effect.runPromise(Effect.provide(program, engineOf(layer)))
  await closeAll()
  expect(run).toMatchObject({ state: "succeeded", output: '{"a":1}' })
})
