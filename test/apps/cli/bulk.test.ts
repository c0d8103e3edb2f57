// `uhrwerk dead groups | export`, and `--where` of `dead replay`, `dead drop` and `run cancel`: done on a SQLite store.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import type { Bulk } from "../../../apps/bulk/Bulk.ts"
import { runBulk } from "../../../apps/bulk/runBulk.ts"
import { bulk, whereOf } from "../../../apps/cli/bulk.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { killRuns } from "../server/bulkWorld.ts"
import { inProcess } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-bulk-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const at = (...args: ReadonlyArray<string>) => inProcess(args, folder)
const open = (): StoreDriver => sqliteDriver({ file: join(folder, "uhrwerk.db"), now: () => Date.now() })
const errorOf = (index: number) =>
  ({
    name: index % 3 === 0 ? "Rare" : "Timeout",
    message: `Customer ${index} took ${index * 7} ms`,
    kind: "error",
  }) as const

beforeAll(async () => {
  const store = open()
  await killRuns(
    store,
    Array.from({ length: 9 }, (_, index) =>
      newRun(index + 1, { job: index < 6 ? "mail" : "web", attemptMax: 1, input: `{"n":${index}}` }),
    ),
    errorOf,
  )
  await store.enqueue([
    newRun(21, { job: "slow" }),
    newRun(22, { job: "slow", delayMillis: 3_600_000 }),
    newRun(23, { job: "mail" }),
  ])
  await store.close()
})

describe("dead groups", () => {
  test("are the errors, the most frequent first, with the command for the first one", async () => {
    const { code, stdout, stderr } = await at("dead", "groups")
    expect(code).toBe(0)
    expect(stdout).toMatch(/^GROUP +COUNT +FIRST +LAST +JOBS +ERROR\n/)
    expect(stdout).toMatch(/\n[0-9a-f]{16} +6 .* web mail +Timeout: Customer # took # ms\n/)
    expect(stderr).toMatch(/uhrwerk dead replay --where error=[0-9a-f]{16}/)
    const json = JSON.parse((await at("dead", "groups", "--job", "web", "-o", "json")).stdout)
    expect(json.map(({ count }: { count: number }) => count)).toEqual([2, 1])
    expect((await at("dead", "groups", "--limit", "1")).stderr).toContain("+1 more")
  })
})

describe("dead export", () => {
  test("is a line of JSON for each letter, whole, the highest id first", async () => {
    const { code, stdout } = await at("dead", "export")
    const letters = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect([code, letters.map(({ runId: id }) => id)]).toEqual([0, [9, 8, 7, 6, 5, 4, 3, 2, 1].map(runId)])
    expect(letters[8]).toMatchObject({
      job: "mail",
      input: { n: 0 },
      attempts: [{ error: { name: "Rare" } }],
    })
    expect((await at("dead", "export", "--job", "none")).stdout).toBe("")
  })
})

describe("dead replay --where", () => {
  test("says first what it would do, then does it, and then there is no more", async () => {
    const where = ["--where", "job=mail,error=Rare"]
    const dry = await at("dead", "replay", ...where, "--dry-run")
    expect(dry).toMatchObject({ code: 0, stdout: `${runId(4)}\n${runId(1)}\n` })
    expect(dry.stderr).toContain("Would replay 2 dead letters")
    const wet = await at("dead", "replay", ...where, "--rate", "1000/s")
    expect(wet).toMatchObject({ code: 0, stdout: "2\n", stderr: "Replayed 2 dead letters.\n" })
    expect(await at("dead", "replay", ...where)).toMatchObject({ code: 0, stdout: "0\n" })
    const listed = JSON.parse(
      (await at("run", "list", "--job", "mail", "--state", "ready", "-o", "json")).stdout,
    )
    expect(listed.flatMap((run: { replayOf: string | null }) => run.replayOf ?? []).sort()).toEqual([
      runId(1),
      runId(4),
    ])
  })

  test("takes the group that `dead groups` names", async () => {
    const [first] = JSON.parse((await at("dead", "groups", "-o", "json")).stdout)
    const { stdout } = await at(
      "dead",
      "replay",
      "--where",
      `error=${first.fingerprint},job=web`,
      "-o",
      "json",
    )
    expect(JSON.parse(stdout)).toEqual([{ done: 2, skipped: 0, failed: 0, error: null }])
  })
})

describe("dead drop --where", () => {
  test("asks, and where nobody can answer takes --yes only", async () => {
    const where = ["--where", "job=mail"]
    expect(await at("dead", "drop", ...where)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/Drop 4 dead letters\? Nobody can be asked here: say --yes/),
    })
    expect(await at("dead", "drop", ...where, "--yes")).toMatchObject({ code: 0, stdout: "4\n" })
    expect((await at("dead", "list", "--job", "mail")).stdout.trimEnd().split("\n")).toHaveLength(1)
    expect((await at("dead", "list", "--job", "web")).stdout.trimEnd().split("\n")).toHaveLength(2)
  })
})

describe("run cancel --where", () => {
  test("cancels runs of a state and a job, with a reason", async () => {
    const where = ["--where", "state=scheduled,job=slow"]
    expect(await at("run", "cancel", ...where)).toMatchObject({ code: 2 })
    const done = await at("run", "cancel", ...where, "--reason", "Not wanted", "--yes")
    expect(done).toMatchObject({ code: 0, stdout: "1\n", stderr: "Cancelled 1 run.\n" })
    const store = open()
    const [other, run] = await store.get([runId(21), runId(22)])
    await store.close()
    expect([other?.state, run?.state]).toEqual(["ready", "cancelled"])
    expect(run?.reason).toMatch(/^Not wanted \(operation /)
  })
})

describe("--where", () => {
  test.each([
    [["dead", "replay", "--where", "mail"], /"mail" is no FIELD=VALUE with one of job, error/],
    [["dead", "drop", "--where", "queue=x", "--yes"], /"queue=x" is no FIELD=VALUE/],
    [["dead", "drop", "--where", "", "--yes"], /is no FIELD=VALUE/],
    [["dead", "replay", "--where", "job=a,job=b"], /says job twice/],
    [["dead", "replay", "--where", "job=a", "--rate", "fast"], /"fast" is no rate/],
    [["dead", "replay", "--where", "createdAfter=soon"], /createdAfter/],
    [["run", "cancel", "--where", "state=dead"], /state dead is none of scheduled, blocked/],
    [["run", "cancel", "x", "--where", "job=a"], /takes no argument/],
  ])("%j is refused", async (args, text) => {
    const { code, stderr } = await at(...args)
    expect(stderr).toMatch(text)
    expect(code).toBe(2)
  })

  test("has instants with their zone", () => {
    expect(whereOf("cancelRuns", "createdAfter=2027-01-01T00:00:00+01:00, queue=q")).toEqual({
      createdAfter: Date.UTC(2026, 11, 31, 23),
      queue: "q",
    })
  })
})

test("when some failed the exit code is 8, and the last reason is told", async () => {
  const driver = memoryDriver({ now: () => Date.now() })
  await killRuns(
    driver,
    [1, 2, 3].map((n) => newRun(n, { attemptMax: 1 })),
  )
  // Somebody takes the id of one new run, a moment before.
  let taken = false
  const store: StoreDriver = {
    ...driver,
    replay: (ids, newIds) => {
      if (!taken) void driver.enqueue([newRun(9, { id: newIds[0] ?? "" })])
      taken = true
      return driver.replay(ids, newIds)
    },
  }
  const said: Array<string> = []
  vi.spyOn(console, "log").mockImplementation((line: string) => void said.push(line))
  vi.spyOn(console, "error").mockImplementation((line: string) => void said.push(line))
  const code = await bulk(store, "replayDeadLetters", { where: "job=report" })
  vi.restoreAllMocks()
  expect([code, said]).toEqual([
    8,
    [
      expect.stringMatching(/^Replayed 2 dead letters; 1 failed, the last one as: .* is there already\.$/),
      "2",
    ],
  ])
})

test("a rate holds back each page until the one before has had its time", async () => {
  const driver = memoryDriver({ now: () => 1_800_000_000_000 })
  await killRuns(
    driver,
    Array.from({ length: 120 }, (_, n) => newRun(n + 1, { attemptMax: 1 })),
  )
  const work: Bulk = {
    id: runId(500),
    kind: "dropDeadLetters",
    filter: { job: "report" },
    namespace: null,
    reason: "",
    frozenAt: 1_800_000_000_000,
  }
  const waits: Array<number> = []
  const progress: Array<number> = []
  await runBulk(driver, work, {
    perSecond: 50,
    wait: (millis) => Promise.resolve(void waits.push(millis)),
    onProgress: ({ done }) => progress.push(done),
  })
  expect([waits, progress]).toEqual([
    [1_000, 1_000],
    [50, 100, 120],
  ])
})
