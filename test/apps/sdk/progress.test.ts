// What a handler says of how far it is, in the engine's own process.
import { expect, test } from "vitest"
import { type EngineEvent, job } from "../../../apps/sdk/mod.ts"
import { testEngine } from "../../../apps/sdk/testing.ts"

test("progress is an event: numbers are bounded, what is none is refused, and notes are cut", async () => {
  const refusals: Array<unknown> = []
  const slow = job("slow", {
    run: (_: void, ctx) => {
      ctx.progress(0)
      ctx.progress(33.3, "a third")
      ctx.progress(100.000_1)
      ctx.progress(-1)
      ctx.progress(0 / 0)
      ctx.progress(null, "x".repeat(3_000))
      for (const wrong of ["50", undefined, {}])
        try {
          ctx.progress(wrong as never)
        } catch (error) {
          refusals.push((error as { readonly field?: string }).field)
        }
      return ctx.shard
    },
  })
  const engine = await testEngine({ jobs: [slow] })
  const seen: Array<Extract<EngineEvent, { kind: "progress" }>> = []
  engine.on((event) => void (event.kind === "progress" && seen.push(event)))
  const sent = await slow.send()
  await engine.advance("1s")
  expect(await sent.result()).toBe(null)
  expect(seen.map(({ percent, note }) => [percent, note?.length ?? null])).toEqual([
    [0, null],
    [33.3, 7],
    [100, null],
    [0, null],
    [null, null],
    [null, 2_048],
  ])
  expect(seen[0]?.run.id).toBe(sent.id)
  expect(refusals).toEqual(["ctx.progress", "ctx.progress", "ctx.progress"])
  await engine.stop()
})
