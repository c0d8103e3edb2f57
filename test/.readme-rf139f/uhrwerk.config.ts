// uhrwerk.config.ts
import { after, cron, defineConfig, every, job } from "uhrwerk"

export const digest = job("mail.digest", {
  on: cron("0 9 * * 1-5"),
  retry: { max: 5, delay: "10s", delayMax: "10m" },
  timeout: "1m",
  run: async (_input, ctx) => {
    ctx.log(`attempt ${ctx.run.attempt}`)
    return { sent: 3 }
  },
})

export const sample = job("machine.sample", { on: every("5s"), run: () => ({ at: Date.now() }) })

export const sync = job("inbox.sync", { on: after("30s"), run: async () => {} })

export default defineConfig({
  jobs: [digest, sample, sync],
  storage: "sqlite:uhrwerk.db",
  worker: { concurrency: 8 },
})
