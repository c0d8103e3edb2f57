import { engine, job, NonRetryable, RetryAfter } from "uhrwerk"

const resize = job("image.resize", {
  retry: { max: 4, delay: "100ms" },
  timeout: "30s",
  run: async (input: { file: string; width: number }, ctx) => {
    if (input.width < 1) throw new NonRetryable("the width must be positive")
    if (ctx.run.attempt === 1) throw new RetryAfter("50ms", "the disk was busy")
    return { file: input.file, width: input.width }
  },
})

const app = await engine({ jobs: [resize], storage: "memory:" }).start()

const run = await resize.send({ file: "a.png", width: 640 }, { delay: "20ms", key: "a.png" })
console.log(await run.result({ timeout: "10s" }))

await app.stop()
