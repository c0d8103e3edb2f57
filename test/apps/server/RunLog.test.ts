// What is kept of a run's log, and what is left out: over records of the memory store, with a clock of our own.
import { expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { makeRunLog, type RunLogLimits } from "../../../apps/server/RunLog.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { Run } from "../../../core/domain/Run.ts"
import type { EngineEvent } from "../../../core/observe/Event.ts"
import { logKind, logLineOf, logPrefix, progressKind } from "../../../core/observe/RunRecords.ts"
import type { PutRecord } from "../../../core/ports/StoreDriver.ts"

const day = 86_400_000
/** A recorder over a memory store; `outages` puts fail first. */
const start = (limits: Partial<RunLogLimits> = {}, outages = 0) => {
  const clock = { now: Date.UTC(2027, 0, 1) }
  const store = memoryDriver({ now: () => clock.now })
  const troubles: Array<unknown> = []
  let left = outages
  const batches: Array<number> = []
  const make = () =>
    makeRunLog({
      store: {
        putRecords: async (records: ReadonlyArray<PutRecord>) => {
          if (left-- > 0) throw new Error("the store is away")
          batches.push(records.length)
          return store.putRecords(records)
        },
      },
      retentionMillis: day,
      onTrouble: (error) => troubles.push(error),
      limits,
      now: () => clock.now,
    })
  const linesOf = async (id: string) =>
    (await store.records({ kind: logKind, prefix: logPrefix(id), order: "ascending", limit: 1_000 })).map(
      logLineOf,
    )
  return { clock, store, troubles, batches, make, linesOf, log: make() }
}
// Only these fields of a run are read.
const runOf = (n: number, attempt = 1): Run => ({ ...newRun(n), attempt }) as unknown as Run
const line = (run: Run, text: string): EngineEvent => ({ kind: "log", run, line: text })
const end = (run: Run): EngineEvent => ({
  kind: "ended",
  run,
  state: "succeeded",
  durationMillis: 1,
  error: null,
  output: null,
  dueAt: null,
})

test("lines are written together, in order, and are gone with the retention", async () => {
  const { log, batches, linesOf, clock } = start()
  for (let n = 0; n < 450; n++) log.hear(line(runOf((n % 2) + 1), `line ${n}`))
  await log.flush()
  expect(batches).toEqual([450])
  const lines = await linesOf(runId(1))
  expect(lines.map((each) => each.line)).toEqual(Array.from({ length: 225 }, (_, n) => `line ${n * 2}`))
  expect(new Set(lines.map(({ at }) => at))).toEqual(new Set([clock.now]))
  clock.now += day
  expect(await linesOf(runId(1))).toEqual([])
})

test("an attempt that goes on after a pause, or with another server, overwrites no line", async () => {
  const { log, linesOf, clock, make } = start()
  log.hear(line(runOf(1), "before the snooze"))
  log.hear(end(runOf(1)))
  await log.stop()
  clock.now += 5
  const next = make()
  next.hear(line(runOf(1), "after it"))
  next.hear(line(runOf(1, 2), "the next attempt"))
  await next.stop()
  expect((await linesOf(runId(1))).map(({ attempt, line }) => [attempt, line])).toEqual([
    [1, "before the snooze"],
    [1, "after it"],
    [2, "the next attempt"],
  ])
})

test("what is too much is left out, counted, and said where it would stand", async () => {
  const { log, linesOf, clock } = start({ linesPerSecondMax: 3, linesMax: 5, lineMax: 10 })
  for (let n = 1; n <= 6; n++) log.hear(line(runOf(1), `line ${n}`))
  await log.flush()
  // It grows until another line is kept.
  log.hear(line(runOf(1), "line 7"))
  clock.now += 1_000
  log.hear(line(runOf(1), "a line that is too long"))
  for (let n = 9; n <= 20; n++) {
    clock.now += 1_000
    log.hear(line(runOf(1), `line ${n}`))
  }
  log.hear(end(runOf(1)))
  await log.flush()
  const lines = await linesOf(runId(1))
  expect(lines.map((each) => [each.leftOut, each.line])).toEqual([
    [0, "line 1"],
    [0, "line 2"],
    [0, "line 3"],
    [4, "(4 lines are left out: more than 3 in a second on this server)"],
    [0, "a line tha (13 characters are left out)"],
    [0, "line 9"],
    [11, "(11 lines are left out: more than 5 of one start)"],
  ])
})

test("while the store does not take them, so many lines wait and no more; a store that is back gets them", async () => {
  const { log, linesOf, troubles, clock } = start({ waitingMax: 2 }, 1)
  for (let n = 1; n <= 3; n++) log.hear(line(runOf(1), `line ${n}`))
  await log.flush()
  clock.now += 1
  log.hear(line(runOf(1), "line 4"))
  await log.stop()
  expect(troubles.length).toBe(1)
  expect((await linesOf(runId(1))).map((each) => each.line)).toEqual([
    "line 1",
    "line 2",
    "(1 line is left out: the store takes them too slowly)",
    "line 4",
  ])
})

test("a stop does not wait for a store that is gone, and says so", async () => {
  const { log, troubles, linesOf } = start({}, 1_000)
  for (let n = 1; n <= 2_000; n++) log.hear(line(runOf(1), `line ${n}`))
  await log.stop()
  expect(troubles.length).toBeGreaterThan(0)
  log.hear(line(runOf(1), "too late"))
  expect(await linesOf(runId(1))).toEqual([])
})

test("of progress the latest is kept, without secrets", async () => {
  const { log, store } = start()
  for (let percent = 0; percent <= 100; percent += 10)
    log.hear({ kind: "progress", run: runOf(1), percent, note: `token=abc${percent}` })
  await log.stop()
  const rows = await store.records({ kind: progressKind, order: "ascending", limit: 10 })
  expect(rows.map(({ id, version, body }) => [id, version, JSON.parse(body)])).toEqual([
    [runId(1), 1, { attempt: 1, at: Date.UTC(2027, 0, 1), percent: 100, note: "token=[redacted]" }],
  ])
})
