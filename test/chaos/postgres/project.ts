// What the nodes of the chaos run serve: jobs that write down what they do, and schedules that start each second. Each
// node is given a config file that calls this, as a project's own would.
import { appendFileSync } from "node:fs"
import { cron, defineConfig, every, job, NonRetryable, type RunContext } from "../../../apps/sdk/mod.ts"
import { filesOf, type Mode } from "../evidence.ts"
import type { NodeLine, Output } from "./evidence.ts"

/** What differs from node to node, and from one size of the test to another. */
export interface ProjectOptions {
  /** Where the evidence goes. */
  readonly folder: string
  readonly storage: `postgres://${string}`
  readonly schedules: number
  readonly slots: number
}

/** The lease of the nodes: the default one. */
export const leaseMillis = 5000
/** How long a node that was asked to stop waits for its handlers. */
export const graceMillis = 3000

// A run is lost with each fault that hits it; it must not die of that.
const retry = { max: 20, backoff: "fixed", delay: "50ms", jitter: "none" } as const
const rest = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** The config of one node. */
export const projectOf = ({ folder, storage, schedules, slots }: ProjectOptions) => {
  const files = filesOf(folder)
  // By the clock of the machine, whatever the engine of this node takes the time to be.
  const note = (line: NodeLine): void => appendFileSync(files.effects, `${JSON.stringify(line)}\n`)

  /** Runs a handler's body between two lines; what it returns says who did it, under which token. */
  const logged = async (
    { run: { id, attempt, token, dueAt } }: RunContext<any>,
    body: () => Promise<void> | void,
  ): Promise<Output> => {
    const { pid } = process
    note({ kind: "start", id, attempt, token, dueAt: dueAt.getTime(), at: Date.now(), pid })
    let ok = false
    try {
      await body()
      ok = true
      return { pid, token }
    } finally {
      note({ kind: "end", id, token, ok, at: Date.now(), pid })
    }
  }

  const work = job<{ readonly mode: Mode; readonly millis: number }, Output>("work", {
    retry,
    run: ({ mode, millis }, ctx) =>
      logged(ctx, async () => {
        if (mode === "broken") throw new Error("Broken for ever")
        if (mode === "refused") throw new NonRetryable("Refused for good")
        if (mode === "flaky" && ctx.run.attempt === 1) throw new TypeError("Not at the first attempt")
        if (mode === "slow") await rest(millis)
      }),
  })

  // Every policy that decides about a second that passed while nobody was there: all of them later, each for itself; only
  // the newest; only if the one before has ended, which it has not in every third second; and a fixed rate.
  const triggers = [
    () => cron("* * * * * *", { overlap: "allow", catchUp: "all", catchUpMax: 100 }),
    () => cron("* * * * * *", { overlap: "allow" }),
    () => cron("* * * * * *", { overlap: "skip" }),
    () => every("1s", { overlap: "allow", catchUp: "all", catchUpMax: 100 }),
    () => every("1s", { overlap: "skip" }),
  ]
  const ticks = Array.from({ length: schedules }, (_, index) =>
    job<void, Output>(`tick-${index}`, {
      retry,
      on: triggers[index % triggers.length]?.() ?? cron("* * * * * *"),
      run: (_input, ctx) =>
        logged(ctx, () => {
          const second = Math.floor((ctx.run.nominalAt?.getTime() ?? 0) / 1000)
          return index % 10 === 2 && second % 3 === 0 ? rest(1300) : undefined
        }),
    }),
  )
  return defineConfig({
    jobs: [work, ...ticks],
    storage,
    worker: { concurrency: slots },
    lease: `${leaseMillis}ms`,
    grace: `${graceMillis}ms`,
  })
}
