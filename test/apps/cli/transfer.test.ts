// `export` and `import`: everything comes out, what is still to be done goes in with its ids, twice is once, and half a
// file is found out.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, test } from "vitest"
import { exportLines } from "../../../apps/cli/exportStore.ts"
import { importLines } from "../../../apps/cli/importStore.ts"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { failing, newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { inProcess } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-transfer-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let now = 1_790_000_000_000
const origin = now

/** A store with some of everything. */
const fill = async (store: StoreDriver): Promise<void> => {
  await store.putCalendars([{ name: "workdays", definition: "{}", fromConfig: true }])
  const credential = {
    id: "c1",
    kind: "worker",
    name: "edge",
    hash: "0".repeat(64),
    scope: "{}",
    expiresAt: null,
  } as const
  await store.putCredential(credential)
  await store.putSchedules([
    {
      id: "s",
      job: "report",
      trigger: { kind: "every", periodMillis: 60_000, startAt: null },
      input: null,
      overlap: "skip",
      fromConfig: false,
      cursor: origin,
      nextAt: origin + 60_000,
      zoneData: null,
      createdAt: origin - 120_000,
    },
  ])
  await store.pauseSchedule("s", true, "moving")
  await store.join({ id: "n", host: "here", pid: 1, runtime: "test" }, 60_000)
  const dies = newRun(1, { attemptMax: 1 })
  await store.enqueue([dies])
  const claim = { node: "n", queues: ["default"], jobs: [dies.job], limit: 1, acknowledged: true }
  const [dead] = await store.claim(claim)
  if (dead === undefined) throw new Error("Nothing was claimed")
  await store.settle([failing(dead)])
  await store.enqueue([newRun(2, { attemptMax: 5 })])
  const [retries] = await store.claim(claim)
  if (retries === undefined) throw new Error("Nothing was claimed")
  await store.settle([failing(retries, 60_000)])
  await store.enqueue([
    newRun(3, { key: "k", input: '{"a":1}', dueAt: origin + 5_000, priority: 3 }),
    newRun(4, { needs: [runId(3)] }),
    newRun(5, { job: "other" }),
  ])
  await store.claim({ ...claim, jobs: ["other"] })
}

const linesOf = async (store: StoreDriver): Promise<ReadonlyArray<string>> => {
  const lines: Array<string> = []
  for await (const line of exportLines(store)) lines.push(JSON.stringify(line))
  return lines
}
const given = async function* (lines: ReadonlyArray<string>) {
  yield* lines
}
let from: StoreDriver
let lines: ReadonlyArray<string>
beforeAll(async () => {
  from = memoryDriver({ now: () => now })
  await fill(from)
  lines = await linesOf(from)
})

test("every row comes out, runs in the order in which they were made, and the last line says how many there are", () => {
  const rows = lines.map(
    (line) =>
      JSON.parse(line) as { type: string; row?: { id?: string }; lines?: number; attempts?: Array<object> },
  )
  const of = (type: string) => rows.filter((each) => each.type === type)
  expect(of("run").map(({ row }) => row?.id)).toEqual([1, 2, 3, 4, 5].map(runId))
  expect(of("run").map(({ attempts }) => attempts?.length)).toEqual([1, 1, 0, 0, 0])
  for (const type of ["calendar", "credential", "schedule", "deadLetter"])
    expect(of(type), type).toHaveLength(1)
  expect(rows.at(-1)).toEqual({ type: "end", lines: lines.length })
})

test.each(["memory", "sqlite"] as const)(
  "%s: what is to be done goes on with its id, its place and the attempts that are left",
  async (kind) => {
    const to =
      kind === "memory"
        ? memoryDriver({ now: () => now })
        : sqliteDriver({ file: join(folder, "to.db"), now: () => now })
    const { taken, left } = await importLines(to, given(lines), false)
    expect(Object.fromEntries(taken)).toEqual({ calendar: 1, credential: 1, schedule: 1, run: 3 })
    expect(Object.fromEntries(left)).toEqual(
      Object.fromEntries([
        ["deadLetter: history, which stays in the file", 1],
        ["run: it has ended, and stays in the file", 1],
        ["run: under way; drain its engine before the export", 1],
      ]),
    )
    const [retries, keyed, blocked] = await to.get([runId(2), runId(3), runId(4)])
    expect(retries).toMatchObject({ state: "scheduled", attempt: 0, attemptMax: 4 })
    expect(keyed).toMatchObject({
      state: "scheduled",
      key: "k",
      input: '{"a":1}',
      dueAt: origin + 5_000,
      priority: 3,
    })
    expect(blocked).toMatchObject({ state: "blocked", needs: [runId(3)] })
    const [old] = await from.schedules()
    const [schedule] = await to.schedules()
    const same = (row: typeof old) =>
      row && [row.id, row.trigger, row.cursor, row.nextAt, row.createdAt, row.pausedNote, row.fromConfig]
    expect(same(schedule)).toEqual(same(old))
    expect((await to.credentials()).map(({ name, hash }) => [name, hash])).toEqual([["edge", "0".repeat(64)]])
    const before = await linesOf(to)
    await importLines(to, given(lines), false)
    const after = await linesOf(to)
    expect(after.filter((line) => line.includes('"type":"run"'))).toEqual(
      before.filter((line) => line.includes('"type":"run"')),
    )
    expect(after).toHaveLength(before.length)
    await to.close()
  },
)

test("a dry run changes nothing", async () => {
  const to = memoryDriver({ now: () => now })
  const before = await linesOf(to)
  const { taken } = await importLines(to, given(lines), true)
  expect(taken.get("run")).toBe(3)
  expect(await linesOf(to)).toEqual(before)
})

test.each([
  ["another file", () => ['{"a":1}'], "Line 1"],
  ["a later version", () => ['{"type":"uhrwerk","version":2}'], "version 1"],
  ["no JSON", () => [lines[0] ?? "", "{"], "Line 2"],
  ["half a file", () => lines.slice(0, 5), "breaks off after 5 lines"],
  ["a file with a line less", () => lines.toSpliced(3, 1), "not whole"],
  ["more after its end", () => [...lines, lines[1] ?? ""], "is no line of an export"],
])("%s is refused", async (_, make, said) => {
  await expect(importLines(memoryDriver({ now: () => now }), given(make()), false)).rejects.toThrow(said)
})

test("the commands, over a pipe from one file to another", async () => {
  now = Date.now()
  const source = sqliteDriver({ file: join(folder, "a.db"), now: () => now })
  await source.enqueue([newRun(1, { dueAt: now + 3_600_000 }), newRun(2, { dueAt: now + 3_600_000 })])
  await source.close()
  const script = fileURLToPath(new URL("../../../apps/cli/main.ts", import.meta.url))
  const text = execFileSync(process.execPath, [script, "export", "--storage", "sqlite:a.db"], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  })
  writeFileSync(join(folder, "a.ndjson"), text)
  // As another store, it has to be there.
  await sqliteDriver({ file: join(folder, "b.db"), now: () => now }).close()
  const { code, stdout } = await inProcess(["import", "a.ndjson", "--storage", "sqlite:b.db"], folder)
  expect([code, stdout]).toEqual([0, "taken  2 run\n"])
  const absent = await inProcess(["import", "none.ndjson", "--storage", "sqlite:b.db"], folder)
  expect([absent.code, absent.stderr]).toEqual([2, expect.stringContaining("Cannot read")])
  expect(readFileSync(join(folder, "a.ndjson"), "utf8").split("\n").length).toBe(5)
})
