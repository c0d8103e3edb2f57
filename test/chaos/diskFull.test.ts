// A full disk, made by a limit on the pages of the very connection that the engine uses, so that SQLite itself
// refuses: what was not stored is refused to its sender, what has run is settled as soon as there is room again.
import { mkdtempSync, rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { engine, type EngineEvent, every, job, StoreError, type RunningEngine } from "../../apps/sdk/mod.ts"
import { eventually, pause } from "./children.ts"

let folder = ""
const connections: Array<DatabaseSync> = []
const connection = (): DatabaseSync | undefined => connections.findLast(({ isOpen }) => isOpen)
let running: RunningEngine | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uhrwerk-full-"))
  // The engine's connection shows itself by the statement that each one begins with.
  const prototype = DatabaseSync.prototype
  const exec: (this: DatabaseSync, sql: string) => void = Reflect.get(prototype, "exec")
  vi.spyOn(prototype, "exec").mockImplementation(function (this: DatabaseSync, sql) {
    if (sql === "pragma journal_mode = wal") connections.push(this)
    exec.call(this, sql)
  })
})
afterEach(async () => {
  try {
    room(true)
    await running?.stop({ grace: 0 })
  } finally {
    running = undefined
    rmSync(folder, { recursive: true, force: true })
  }
})

const pragma = (name: string): number =>
  Number(Object.values(connection()?.prepare(`pragma ${name}`).get() ?? {})[0])
/** Takes the room that the file could grow into, or gives it back. */
const room = (is: boolean): void => {
  connection()?.exec(`pragma max_page_count = ${is ? 1_000_000 : pragma("page_count")}`)
}

const big = "x".repeat(100_000)

test("disk full > sends are refused with a typed error, outcomes wait for room, and nothing is lost", async () => {
  const events: Array<EngineEvent> = []
  let finish = (): void => {}
  const gate = new Promise<void>((resolve) => {
    finish = resolve
  })
  const load = job<string, string>("load", { run: () => gate.then(() => big) })
  const small = job<number, number>("small", { run: (input) => input })
  running = await engine({
    jobs: [load, small, job("tick", { on: every("200ms"), run: () => 1 })],
    storage: `sqlite:${join(folder, "full.db")}`,
    poll: "100ms",
    worker: { concurrency: 50 },
  }).start({ onEvent: (event) => events.push(event) })
  const { load: loadOf, runs, run } = running

  const carried = await Promise.all(Array.from({ length: 20 }, () => load.send("in")))
  await eventually("all start", () => loadOf().carried >= 20 || undefined)
  room(false)

  const refused = await load.send(big).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(StoreError)
  expect(refused).toMatchObject({ _tag: "StoreError", operation: "enqueue", outcomeUnknown: false })
  expect((refused as Error).message).toContain("disk is full")

  // Their outcomes are as large, so they do not fit either.
  finish()
  const troubled = (event: EngineEvent): boolean => event.kind === "trouble" && event.doing === "settle runs"
  await eventually("trouble", () => events.filter(troubled).length > 2 || undefined)
  expect(await runs({ job: "load", state: "running" })).toHaveLength(20)
  // Longer than a few repetitions, so that it is seen to go on.
  await pause(1500)
  expect(await runs({ job: "load", state: "running" })).toHaveLength(20)

  room(true)
  for (const sent of carried) expect(await sent.result({ timeout: "20s" })).toBe(big)
  expect((await runs({ job: "load", limit: 200 })).map(({ attempt }) => attempt)).toEqual(
    carried.map(() => 1),
  )
  const { id, result } = await small.send(7)
  expect(await result({ timeout: "10s" })).toBe(7)
  expect(await run(id)).toMatchObject({ state: "succeeded" })
})

test("disk full > many senders at once all hear of it, and soon", async () => {
  const load = job<string, void>("load", { run: () => {} })
  running = await engine({ jobs: [load], storage: `sqlite:${join(folder, "full.db")}` }).start()
  room(false)
  const from = performance.now()
  const answers = await Promise.allSettled(Array.from({ length: 20 }, () => load.send(big)))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => "rejected"))
  // "After about a second the caller hears of the failure": with much air, but not a second a caller.
  expect(performance.now() - from).toBeLessThan(10_000)
})

test("disk full > a stop ends within its grace and the time for last writes", async () => {
  const load = job<string, void>("load", { run: () => {} })
  running = await engine({ jobs: [load], storage: `sqlite:${join(folder, "full.db")}` }).start()
  room(false)
  const answers = Promise.allSettled(Array.from({ length: 40 }, () => load.send(big)))
  await pause(50)
  const from = performance.now()
  await running.stop({ grace: "1s" })
  expect(performance.now() - from).toBeLessThan(15_000)
  expect((await answers).map(({ status }) => status)).not.toContain("fulfilled")
})
