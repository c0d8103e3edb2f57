// The workers, in a process of their own on Node for every server alike: echoes for the floor, bare workers or real ones.
// Every answer must be the right one, or it says so.
import { connect } from "../../adapters/transport-websocket/client.ts"
import type { RunningWorker } from "../../apps/worker/mod.ts"
import { sleep } from "../common/meter.ts"
import { BareWorker } from "./BareWorker.ts"
import { answerAll } from "./Child.ts"
import { clock } from "./clock.ts"
import { frames, job } from "./frames.ts"
import { startReal } from "./subject.ts"
import type { Echoed, Side, Traffic } from "./measure.ts"

const limits = { framesPerSecondMax: Number.POSITIVE_INFINITY }

/** Sends its share on one connection, so many at once, and resolves when all have come back in order. */
const echo = (
  url: string,
  share: number,
  window: number,
): Promise<{ readonly from: number; readonly to: number }> =>
  new Promise((resolve, reject) => {
    connect(
      url,
      { limits },
      {
        onOpen: (connection) => {
          let sent = 0
          let received = 0
          const frame = (place: number): string => frames[place % frames.length] ?? ""
          const send = (): void => void connection.send(frame(sent++))
          const from = performance.now()
          queueMicrotask(() => {
            while (sent < Math.min(share, window)) send()
          })
          return {
            onFrame: (answer) => {
              if (answer !== frame(received)) return reject(new Error(`answer ${received} is another`))
              received++
              if (sent < share) send()
              else if (received === share) {
                resolve({ from, to: performance.now() })
                connection.terminate()
              }
            },
            onClose: (code) => reject(new Error(`closed with ${code} after ${received} answers`)),
          }
        },
        onFail: reject,
      },
    )
  })

const bare: Array<BareWorker> = []
const real: Array<RunningWorker> = []
let delays: Array<number> = []

const noteDelay = (sentAt: number | undefined): void => {
  if (sentAt !== undefined) delays.push(clock() - sentAt)
}

const begin = async (url: string, side: Side, name: string, slots: number): Promise<void> => {
  if (side === "real") return void real.push(await startReal(url, name, slots, noteDelay))
  await new Promise<void>((resolve) => {
    bare.push(
      new BareWorker({
        url,
        name,
        slots,
        jobs: [job],
        onBegin: ({ input }, end) => {
          const { sentAt } = JSON.parse(input ?? "{}") as { readonly sentAt?: number }
          noteDelay(sentAt)
          end({ kind: "succeeded", output: null })
        },
        onChange: (what) => what === "welcome" && resolve(),
      }),
    )
  })
}

await answerAll({
  echo: async ({ url, connections, window, messages }): Promise<Echoed> => {
    const share = Math.ceil(messages / connections)
    const spans = await Promise.all(Array.from({ length: connections }, () => echo(url, share, window)))
    const wallMillis = Math.max(...spans.map(({ to }) => to)) - Math.min(...spans.map(({ from }) => from))
    return { count: share * connections, wallMillis }
  },
  /** Resolves when all have been welcomed; `perSecond` of them a second. */
  connect: async ({ url, side, count, slots, perSecond = Number.POSITIVE_INFINITY }) => {
    const welcomes: Array<Promise<void>> = []
    for (let number = 0; number < count; number++) {
      welcomes.push(begin(url, side, `load-${number}`, slots))
      if (Number.isFinite(perSecond)) await sleep(1000 / perSecond)
    }
    await Promise.all(welcomes)
  },
  disconnect: async () => {
    await Promise.all([
      ...bare.splice(0).map((each) => each.drain(1000)),
      ...real.splice(0).map((each) => each.stop()),
    ])
  },
  traffic: (): Traffic => {
    const sum = { framesIn: 0, framesOut: 0, messagesIn: 0, messagesOut: 0 }
    for (const { traffic } of bare)
      for (const name of Object.keys(sum) as ReadonlyArray<keyof Traffic>) sum[name] += traffic[name]
    return sum
  },
  delays: () => {
    const found = delays
    delays = []
    return { delays: found }
  },
})
