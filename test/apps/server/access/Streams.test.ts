// Answers that come bit by bit end when whoever asked may not ask any more.
import { expect, test } from "vitest"
import { makeStreams } from "../../../../apps/server/access/Streams.ts"
import type { Caller } from "../../../../apps/server/api/Handler.ts"
import type { OnLook } from "../../../../apps/server/TokenBook.ts"

const open = () => {
  const watchers = new Set<OnLook>()
  let required = false
  const streams = makeStreams({
    watch: (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    isRequired: () => required,
  })
  return {
    ...streams,
    watchers,
    look: (...valid: ReadonlyArray<string>) => {
      for (const watcher of watchers) watcher(new Set(valid))
    },
    require: () => (required = true),
  }
}
const caller = (kind: Caller["kind"], id: string | null): Caller => ({
  kind,
  id,
  name: "n",
  role: "viewer",
  namespace: null,
})
/** A source that goes on for ever, and says when it was given up. */
const source = () => {
  const state = { cancelled: false, pulled: 0 }
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        if (++state.pulled <= 2) controller.enqueue(new Uint8Array([state.pulled]))
        return state.pulled <= 2 ? undefined : new Promise(() => undefined)
      },
      cancel: () => {
        state.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { state, stream }
}

test("what comes is passed on, as it is asked for; a revoked key ends it while one waits for more", async () => {
  const { guard, look, watchers } = open()
  const { state, stream } = source()
  const reader = guard(caller("key", "k"), stream).getReader()
  expect(state.pulled).toBe(0)
  expect(await reader.read()).toEqual({ done: false, value: new Uint8Array([1]) })
  look("k", "other")
  expect(await reader.read()).toEqual({ done: false, value: new Uint8Array([2]) })
  const waiting = reader.read()
  look("other")
  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(state.cancelled).toBe(true)
  expect(watchers.size).toBe(0)
})

test("to this machine it ends with the first key, to anyone never", async () => {
  const { guard, look, require } = open()
  const [local, anyone] = [source(), source()]
  const reader = guard(caller("local", null), local.stream).getReader()
  guard(caller("anyone", null), anyone.stream)
  look()
  expect(local.state.cancelled).toBe(false)
  require()
  look()
  expect(await reader.read()).toEqual({ done: true, value: undefined })
  expect([local.state.cancelled, anyone.state.cancelled]).toEqual([true, false])
})

test("an end, a failure and a client that goes leave nothing behind", async () => {
  const { guard, watchers } = open()
  const ended = guard(caller("key", "k"), new ReadableStream({ start: (each) => each.close() }))
  expect(await ended.getReader().read()).toEqual({ done: true, value: undefined })
  const failing = guard(
    caller("key", "k"),
    new ReadableStream({
      pull: () => {
        throw new Error("no more")
      },
    }),
  )
  await expect(failing.getReader().read()).rejects.toThrow("no more")
  const { state, stream } = source()
  await guard(caller("key", "k"), stream).cancel()
  expect(state.cancelled).toBe(true)
  expect(watchers.size).toBe(0)
})
