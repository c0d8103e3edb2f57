// Many workers lose their server together. They are machines of the protocol without handlers, in this process; the server
// is a real one, which is started again.
import { expect, test } from "vitest"
import { BareWorker } from "../../../benchmarks/workers/BareWorker.ts"
import { waitMaxMillis } from "../../../core/protocol/Close.ts"
import { eventually, pause } from "../children.ts"
import { Stage } from "./Stage.ts"

const count = 200
const bucketMillis = 100

test.each(["SIGTERM", "SIGKILL"] as const)(
  "SC-S42 200 workers whose server gets a %s come back spread out, and all of them",
  (signal) =>
    Stage.with(async (stage) => {
      const welcomes: Array<number> = []
      const workers: Array<BareWorker> = []
      // When a handshake was due, not when this process came to it: a machine that stands still for a while moves many.
      const onChangeOf = () => {
        let dueAt = Number.NaN
        return (what: string, detail: string): void => {
          if (what === "try") dueAt = Number(detail)
          else if (what === "welcome") welcomes.push(dueAt)
        }
      }
      try {
        for (let each = 0; each < count; each++) {
          const name = `storm-${each}`
          workers.push(
            new BareWorker({
              url: stage.workerUrl,
              name,
              jobs: ["work"],
              slots: 1,
              onBegin: () => {},
              onChange: onChangeOf(),
            }),
          )
          // Below what the server takes of new sessions in a second.
          await pause(8)
        }
        await eventually("all are there", () => (welcomes.length === count ? true : undefined), 30_000)
        welcomes.length = 0
        stage.server?.signal(signal)
        await stage.server?.ended()
        await stage.beginServer()
        const upAt = performance.now()
        await eventually(
          "all are back",
          () => (workers.every(({ isOpen }) => isOpen) ? true : undefined),
          2 * waitMaxMillis,
        )
        const buckets = new Map<number, number>()
        for (const at of welcomes) {
          const bucket = Math.floor((at - upAt) / bucketMillis)
          buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1)
        }
        console.log(
          `after ${signal}: ${welcomes.length} handshakes over ${buckets.size} buckets, ` +
            `most in one ${Math.max(...buckets.values())}, all after ${Math.round(performance.now() - upAt)} ms`,
        )
        expect(Math.max(...buckets.values())).toBeLessThanOrEqual(count / 10)
        expect((await stage.views()).length).toBe(count)
      } finally {
        for (const worker of workers) worker.vanish()
      }
    }),
)
