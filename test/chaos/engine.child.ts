// The process that the crash suite kills: an SDK engine over a SQLite file, with a client of its own that keeps a
// ledger, and handlers that keep a log. Arguments: its folder, how many runs to send in all, which of its lives
// this is, and after how many acknowledgements it kills itself (0: never). It starts when the file `go-LIFE`
// appears, so that its code can be loaded while the life before still lasts; it says `ready` when the engine has started, `idle` when all is sent and
// ended, and drains on SIGTERM.
import { appendFileSync, existsSync } from "node:fs"
import { join } from "node:path"
import { defineConfig, engine, every, job, NonRetryable, type RunContext } from "../../apps/sdk/mod.ts"
import { makeIds } from "../../core/domain/Ids.ts"
import { isFinal } from "../../core/domain/Run.ts"
import { type EffectLine, filesOf, type LedgerLine, type Mode, readLines } from "./evidence.ts"

const [folder = ".", total = "100", life = "0", lastAck = "0"] = process.argv.slice(2)
const files = filesOf(folder)
let acks = 0
const note = (line: LedgerLine): void => {
  appendFileSync(files.ledger, `${JSON.stringify(line)}\n`)
  // In the very moment of the promise: a run that is not on the disk by now is lost.
  if (line.kind === "ack" && ++acks === Number(lastAck)) process.kill(process.pid, "SIGKILL")
}
const effect = (line: EffectLine): void => appendFileSync(files.effects, `${JSON.stringify(line)}\n`)
const rest = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** Runs a handler's body between two lines of the log; each is in the file before anything follows from it. */
const logged = async <A>({ run }: RunContext<any>, body: () => Promise<A>): Promise<A> => {
  const { id, attempt, token } = run
  effect({ kind: "start", id, attempt, token, dueAt: run.dueAt.getTime(), at: Date.now() })
  let ok = false
  try {
    const value = await body()
    ok = true
    return value
  } finally {
    effect({ kind: "end", id, token, ok, at: Date.now() })
  }
}

const retry = { max: 4, backoff: "fixed", delay: "30ms", jitter: "none" } as const

const work = job<{ mode: Mode }>("work", {
  retry,
  run: ({ mode }, ctx) =>
    logged(ctx, async () => {
      if (mode === "slow") await rest(120)
      if (mode === "broken") throw new Error("Broken for ever")
      if (mode === "refused") throw new NonRetryable("Refused for good")
      if (mode === "flaky" && ctx.run.attempt === 1) throw new TypeError("Not at the first attempt")
    }),
})

// Every 20th takes longer than the period, so that instants are skipped for overlap.
const tick = job("tick", {
  on: every("100ms"),
  retry,
  run: (_, ctx) => logged(ctx, () => rest((ctx.run.nominalAt?.getTime() ?? 0) % 2000 < 100 ? 230 : 3)),
})

// Each run takes longer than the period, so that an instant waits for its end nearly always, also when it is killed.
const queue = job("queue", {
  on: every("150ms", { overlap: "queueOne", catchUp: "all", catchUpMax: 5 }),
  retry,
  run: (_, ctx) => logged(ctx, () => rest(190)),
})

// Half of the chains break at their first link, the others of the chain are skipped: there are a dozen chains, and the
// test wants to see one of either kind.
const breaks = (id: string): boolean => Number.parseInt(id.slice(-4), 16) % 2 === 0
const extract = job<void, { from: string }>("extract", {
  retry,
  run: (_, ctx) =>
    logged(ctx, async () => {
      if (breaks(ctx.run.id)) throw new NonRetryable("Nothing to extract")
      await rest(10)
      return { from: ctx.run.id }
    }),
})
const transform = job("transform", {
  retry,
  needs: { extract },
  run: (_, ctx) => logged(ctx, async () => ({ of: ctx.needs.extract.from })),
})
const report = job("report", {
  on: every("700ms", { overlap: "allow" }),
  retry,
  needs: { extract, transform },
  run: (_, ctx) => logged(ctx, async () => ({ of: ctx.needs.extract.from })),
})

while (!existsSync(join(folder, `go-${life}`))) await rest(5)
const running = await engine(
  defineConfig({
    jobs: [work, tick, queue, extract, transform, report],
    storage: `sqlite:${files.db}`,
    worker: { concurrency: 20 },
    lease: "2s",
    grace: "5s",
  }),
).start()
const asked = new Promise<void>((resolve) => process.once("SIGTERM", () => resolve()))
console.log(`ready ${process.pid}`)

const modes: ReadonlyArray<Mode> = ["flaky", "broken", "refused", "slow", "slow"]
const ids = makeIds(Date.now, () => (Math.random() * 2 ** 32) | 0)

const send = async ({ id, mode, dueAt }: Extract<LedgerLine, { kind: "send" }>): Promise<void> => {
  await work.send({ mode }, { id, ...(dueAt === null ? {} : { at: dueAt }) })
  note({ kind: "ack", id })
}

const client = async (): Promise<void> => {
  const before = readLines<LedgerLine>(files.ledger)
  const acknowledged = new Set(before.filter(({ kind }) => kind === "ack").map(({ id }) => id))
  const sent = before.filter((line) => line.kind === "send")
  // What was under way when the process ended: the same ids again, whatever became of them.
  await Promise.all(sent.filter(({ id }) => !acknowledged.has(id)).map(send))
  let left = Number(total) - sent.length
  while (left > 0) {
    const batch = Array.from({ length: Math.min(left, 10) }, (_, place): Promise<void> => {
      const chance = Math.random()
      const line = {
        kind: "send",
        id: ids(),
        mode: modes[Math.floor(chance * 20)] ?? "ok",
        dueAt: place === 0 ? Date.now() + Math.round(Math.random() * 2000) : null,
      } as const
      note(line)
      return send(line)
    })
    await Promise.all(batch)
    left -= batch.length
    // A chain takes no id of the client's, so it is not sent again: its acknowledgement is what counts.
    if (left % 100 === 0) note({ kind: "ack", id: (await report.send()).id })
    await rest(25)
  }
}

await client()
await Promise.all(["tick", "queue", "report"].map((id) => running.pauseSchedule(id)))
while ((await running.counts()).some(({ state }) => !isFinal(state))) await rest(50)
console.log("idle")
await asked
await running.stop()
console.log("stopped")
