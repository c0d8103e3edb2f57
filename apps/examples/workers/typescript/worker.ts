// A worker in TypeScript with the jobs of the conformance kit: `uhrwerk worker-test --cmd "node worker.ts"`, or `bun` or
// `deno run -A` in the place of `node`. Where a server and who the worker is stands in the environment.
import { job, NonRetryable } from "uhrwerk"
import { worker } from "uhrwerk/worker"

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const jobs = [
  job("kit.echo", { run: (input: unknown) => input }),
  job("kit.fail", {
    run: ({ message, retryable }: { message: string; retryable: boolean }): void => {
      throw retryable ? new Error(message) : new NonRetryable(message)
    },
  }),
  // Stops when it is told.
  job("kit.sleep", { run: async ({ millis }: { millis: number }, ctx) => ctx.sleep(millis) }),
  // Hears nothing.
  job("kit.deaf", { run: async ({ millis }: { millis: number }) => pause(millis) }),
  job("kit.log", {
    run: ({ lines = 3 }: { lines?: number }, ctx) => {
      for (let line = 1; line <= lines; line++) ctx.log(`line ${line}`)
      ctx.progress(50, "half")
    },
  }),
  job("kit.repeat", { run: ({ text, times }: { text: string; times: number }) => text.repeat(times) }),
]

const env = (name: string): string | undefined => process.env[name] || undefined
const token = env("UHRWERK_TOKEN")
const name = env("UHRWERK_WORKER")

const running = await worker({
  url: env("UHRWERK_URL") ?? "ws://127.0.0.1:8080/v1/worker",
  jobs,
  concurrency: Number(env("UHRWERK_SLOTS") ?? 2),
  prefetch: Number(env("UHRWERK_PREFETCH") ?? 1),
  version: "1.0.0",
  grace: Number(env("UHRWERK_DRAIN_MILLIS") ?? 30_000),
  ...(token === undefined ? {} : { token }),
  ...(name === undefined ? {} : { name }),
}).start()
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void running.stop())

const end = await running.done
if (end.error !== null) console.error(end.error.message)
process.exit(end.error === null ? 0 : 1)
