// Requests keep every promise of an executor.
import { afterAll, beforeAll, describe, test } from "vitest"
import type { Request } from "../../../adapters/executor-http/mod.ts"
import { type DescribedJob, workExecutor } from "../../../core/ports/Executors.ts"
import { type ExecutorJob, executorContract, runExecutorCase } from "../../../core/testing.ts"
import type { Executor } from "../../../core/ports/Executor.ts"
import { closeAll, open, serve } from "./servers.ts"

const state: { executor?: Executor["Service"]; close?: () => Promise<void> } = {}

beforeAll(async () => {
  const { port } = await serve(({ path, body }, response) => {
    if (path === "/echo") response.end(body)
    else if (path === "/nothing") response.writeHead(204).end()
    else if (path === "/large") response.end("x".repeat(Number(body)))
    else if (path === "/fail") response.writeHead(500).end("broken")
    else if (path === "/fatal") response.writeHead(422).end()
    else if (path === "/later") response.writeHead(429, { "retry-after": "90" }).end()
    else if (path === "/late") setTimeout(() => response.end('"late"'), 300)
  })
  const origin = `http://127.0.0.1:${port}`
  const { runner, request } = open({ origins: [origin] })
  const outputs: Record<ExecutorJob, Request["output"]> = {
    echo: "json",
    nothing: "json",
    large: "text",
    fail: "json",
    fatal: "none",
    later: "none",
    slow: "json",
    late: "json",
  }
  const jobs = Object.entries(outputs).map(([name, output]): [string, DescribedJob<Request>] => [
    name,
    { spec: request(`${origin}/${name}`, { output }) },
  ])
  state.executor = workExecutor(runner, new Map(jobs))
  state.close = runner.close
})
afterAll(async () => {
  await state.close?.()
  await closeAll()
})

describe("http", () => {
  for (const each of executorContract)
    test(each.name, () => runExecutorCase(each, state.executor as Executor["Service"]))
})
