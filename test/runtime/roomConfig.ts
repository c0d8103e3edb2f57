// The config of workers whose handlers run in threads and processes: handlers that block, die, and say where they run.
import { threadId } from "node:worker_threads"
import { command, defineConfig, flow, job } from "../../apps/sdk/mod.ts"

const first = job("first", { run: () => 1 })

export default defineConfig({
  // Nothing there is ever opened by a worker.
  storage: "sqlite:/nowhere/at/all/uhrwerk.db",
  worker: { concurrency: 3 },
  grace: "20s",
  executors: { command: { programs: [process.execPath] } },
  jobs: [
    first,
    job("where", {
      needs: { first },
      run: (input: unknown, { run, needs, shard }) => ({
        input,
        process: process.pid,
        thread: threadId,
        run: { ...run, late: run.late >= 0 },
        needs,
        shard,
      }),
    }),
    job("block", {
      run: (millis: number) => {
        const end = performance.now() + millis
        while (performance.now() < end);
        return "blocked"
      },
    }),
    job("leave", { run: (code: number): void => process.exit(code) }),
    job("crash", {
      run: (): void => {
        process.kill(process.pid, "SIGKILL")
      },
    }),
    job("wait", { run: (_: void, ctx) => ctx.sleep("1h") }),
    job("snooze", { run: (_: void, ctx) => ctx.snooze("5m") }),
    job("speak", {
      run: async (_: void, ctx) => {
        ctx.log("one")
        ctx.log("two")
        ctx.progress(50, "half")
        await ctx.sleep(300)
      },
    }),
    job("program", { run: command(process.execPath, ["--version"], { output: "text" }) }),
    flow("pair", {}, (f) => {
      const a = f.step("a", { run: () => ({ rows: 10 }) })
      f.step("b", { needs: { a }, run: ({ a }) => a.rows * 2 })
    }),
  ],
})
