// The store benchmark in a process of its own, tiny, over the real server: what it reports, that it leaves nothing behind,
// and that the history that it makes is the history that runs leave.
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import postgres from "postgres"
import { afterAll, describe, expect, test } from "vitest"
import { fillHistory } from "../../benchmarks/store/history.ts"
import { measureRound } from "../../benchmarks/store/operations.ts"
import { historiesOf } from "../../benchmarks/store/options.ts"
import { aimsOf, type Report, type SideReport } from "../../benchmarks/store/report.ts"
import { job } from "../../benchmarks/store/Side.ts"
import { openStore } from "../../benchmarks/store/subject.ts"
import { isRunId } from "../../core/domain/Ids.ts"
import { dropSchemas, missing, schemaName, url } from "../adapters/store-sql/postgres/server.ts"

const main = fileURLToPath(new URL("../../benchmarks/main.ts", import.meta.url))

const run = async (...args: ReadonlyArray<string>): Promise<{ code: number; out: string; err: string }> => {
  const command = [...(process.versions["deno"] === undefined ? [] : ["run", "-A"]), main, ...args]
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { timeout: 120_000 })
    return { code: 0, out: stdout, err: stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, out: stdout, err: stderr }
  }
}

const sizes = "--history 0,1000 --runs 300 --batch 100 --claim 50 --rounds 2 --slots 50 --samples 10"
const tiny = `${sizes} --delayed 20 --spread 300`.split(" ")
const operation = {
  runsPerSecond: expect.any(Number),
  millisPerCall: expect.any(Number),
  cpuMillisPer1000: expect.any(Number),
  ratio: expect.any(Number),
  millisPerCallRounds: [expect.any(Number), expect.any(Number)],
}

describe.skipIf(missing !== null)(`benchmarks > store (${missing ?? "on the server"})`, () => {
  afterAll(dropSchemas)

  test("a tiny run reports every figure and leaves no schema", { timeout: 120_000 }, async () => {
    const { code, out, err } = await run("store", "--json", "--postgres", url, ...tiny)
    expect(code, `${err}\n${out}`).toBe(0)
    const report = JSON.parse(out) as Report
    const side = (history: number) => ({
      name: `history ${history}`,
      history,
      enqueue: operation,
      claim: operation,
      settle: operation,
      drain: operation,
      bloat: expect.objectContaining({ table: "live", deadRows: expect.any(Number) }),
    })
    const floor = { name: "floor", history: null }
    expect(report.figures.sides).toMatchObject([floor, side(0), side(1000)])
    expect(report.figures.held).toMatchObject([floor, side(0), side(1000)])
    expect(report.figures.engine).toMatchObject(
      [0, 1000].map((history) => ({
        history,
        drain: { runs: 300, runsPerSecond: expect.any(Number) },
        latency: { count: 10 },
        lateness: { count: 20, early: 0, missing: 0 },
      })),
    )
    expect(report.environment.postgres["fsync"]).toEqual(expect.any(String))
    expect(report.troubles).toEqual([])
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    const left = await sql`select nspname from pg_namespace where nspname like ${"uhrwerk_bench_store_%"}`
    await sql.end()
    expect(left.map(({ nspname }) => String(nspname))).toEqual([])
  })

  test("made history has the columns of a run that really ran, and the counts know of it", async () => {
    const schema = schemaName()
    const store = await openStore(url, schema, "store")
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    try {
      await measureRound(store, { runs: 10, batch: 10, claim: 10 })
      await fillHistory(sql, schema, 1000)
      expect(await store.ended()).toBe(1010)
      // What is set and what is not, in both tables, and how far the times are apart in kind.
      const shapes =
        await sql.unsafe(`select distinct r.job, r.queue, r.priority, r.attempt_max, length(r.id) as id,
        r.due_at = r.created_at as at_once, num_nulls(r.key, r.expires_at, r.schedule_id, r.nominal_at, r.chain_id, r.needs,
          r.replay_of, r.parent_id, r.step) as nulls, r.input like '{"n":%}' as input,
        e.state, e.due_at = r.due_at as due, e.attempt, e.losses, e.token, e.settled_token, e.start_acknowledged,
        e.waiting_for, e.started_at between r.due_at and e.ended_at as ordered,
        num_nulls(e.reason, e.error, e.output) as without
        from ${schema}.runs as r join ${schema}.ended as e on e.id = r.id`)
      expect(shapes).toHaveLength(1)
      const rows = await sql.unsafe(`select id from ${schema}.runs order by created_at limit 1000`)
      expect(rows.every(({ id }) => isRunId(String(id)))).toBe(true)
      const sorted = rows.map(({ id }) => String(id))
      expect(sorted).toEqual(sorted.toSorted())
      expect(shapes[0]?.["job"]).toBe(job)
    } finally {
      await store.close()
      await sql.end()
    }
  })

  test("the claim at the largest history is judged by the rounds, and met at its bound", () => {
    const side = (history: number, millisPerCallRounds: ReadonlyArray<number>) =>
      ({ history, claim: { millisPerCallRounds } }) as unknown as SideReport
    const verdict = (millis: number) =>
      aimsOf({ sides: [side(0, [10, 100, 10]), side(5, [millis, 500, millis])], engine: [] })[0]
    expect(verdict(13)).toMatchObject({ value: 1.3, verdict: "met" })
    expect(verdict(13.1)).toMatchObject({ value: 1.31, verdict: "missed" })
  })

  test("sizes of history are whole numbers, in order, each once; a wrong option is named", async () => {
    expect(historiesOf("5e6,0,1e6,0")).toEqual([0, 1_000_000, 5_000_000])
    expect(["", "1,", "-1", "1.5", "x"].map(historiesOf)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    const wrong = async (option: string, ...args: ReadonlyArray<string>): Promise<void> =>
      expect(await run("store", ...args)).toMatchObject({ code: 2, err: expect.stringContaining(option) })
    await wrong("--history", "--history", "many")
    await wrong("--store", "--store", "oracle")
    await wrong("--postgres", "--postgres", "redis://127.0.0.1")
    await wrong("--only", "--only", "colour")
  })
})
