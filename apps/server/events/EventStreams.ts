// Event streams (server-sent events) out of the journal. A stream reads on only when its client has taken what it was sent:
// a slow one costs one page of events, however far it is behind, and is cut when it has taken nothing for half a minute.
import { pause } from "../pause.ts"
import { eventsOf } from "./Batch.ts"
import type { Journal } from "./Journal.ts"
import { type EventFilter, isWanted } from "./EventFilter.ts"
import { type Position, positionText } from "./Position.ts"
import type { CloudEvent } from "./cloudEvents.ts"

/** What a stream is asked for. */
export interface StreamRequest {
  readonly filter: EventFilter
  readonly from: Position
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal
}

/** The open streams of a server. */
export interface EventStreams {
  /** `undefined`: there are as many as there may be. */
  readonly open: (request: StreamRequest) => ReadableStream<Uint8Array> | undefined
  readonly size: () => number
  /** Resolves when all have ended, which they do by themselves after the journal; the others are cut. */
  readonly stop: () => Promise<void>
}

/** How streams are kept. */
export interface StreamsOptions {
  readonly journal: Pick<Journal, "read" | "wait" | "isStopped">
  /** Default 100. */
  readonly streamsMax?: number
  /** The gap between comments; default 8 s, as some servers cut an answer that is silent for 10 s. */
  readonly beatMillis?: number
  /** For how long a client may take nothing; default 30 s. */
  readonly slowMillis?: number
}

/** When a client whose stream has ended may come again. */
const retryMillis = 1_000
const stopMillis = 2_000

interface Open {
  readonly cut: (reason: string) => void
  readonly over: Promise<void>
}

/** Makes none yet. */
export const makeEventStreams = (options: StreamsOptions): EventStreams => {
  const { journal, streamsMax = 100, beatMillis = 8_000, slowMillis = 30_000 } = options
  const streams = new Set<Open>()

  const open = ({ filter, from, signal }: StreamRequest): ReadableStream<Uint8Array> | undefined => {
    if (streams.size >= streamsMax) return undefined
    const gone = new AbortController()
    let position = from
    let told = positionText(from)
    let slow: ReturnType<typeof setTimeout> | undefined
    let settle = (): void => {}
    const over = new Promise<void>((resolve) => (settle = resolve))
    let controller: ReadableStreamDefaultController<Uint8Array>
    const end = (): void => {
      clearTimeout(slow)
      signal.removeEventListener("abort", leave)
      streams.delete(stream)
      gone.abort()
      settle()
    }
    const cut = (reason: string): void => {
      if (gone.signal.aborted) return
      end()
      controller.error(new Error(reason))
    }
    const leave = (): void => cut("The client has gone")
    const stream: Open = { cut, over }
    const send = (text: string): void => {
      if (gone.signal.aborted) return
      controller.enqueue(encoder.encode(text))
      // Until it is asked for more, the client has not taken this.
      clearTimeout(slow)
      slow = setTimeout(() => cut("The client does not read"), slowMillis)
    }

    /** Events after the position, as text; empty: none is wanted of those that there are. */
    const page = async (): Promise<string> => {
      const read = await journal.read(position)
      if ("gap" in read) {
        position = read.gap
        told = positionText(position)
        return lines(gapEvent(told))
      }
      const events = eventsOf(read.batches, position)
      position = events.at(-1)?.position ?? position
      const wanted = events.filter(({ draft }) => isWanted(filter, draft)).map(({ event }) => event)
      told = wanted.at(-1)?.id ?? told
      return wanted.map(lines).join("")
    }
    /** A comment, and how far the client has seen everything that it wants: this moves on where no event is sent. */
    const beat = (): string => {
      const at = positionText(position)
      const moved = at === told ? "" : `id: ${at}\n`
      told = at
      return `:\n${moved}\n`
    }
    const pull = async (): Promise<void> => {
      clearTimeout(slow)
      const silence = AbortSignal.timeout(beatMillis)
      const quiet = AbortSignal.any([silence, gone.signal])
      while (!gone.signal.aborted) {
        const before = position
        const text = await page().catch(() => undefined)
        if (text !== undefined && text !== "") return send(text)
        if (text !== undefined && journal.isStopped() && position === before) {
          send(`retry: ${retryMillis}\n${beat()}`)
          end()
          return controller.close()
        }
        if (silence.aborted) return send(beat())
        if (text === undefined) await pause(pauseMillis, quiet)
        else await journal.wait(position.batch, quiet)
      }
    }

    streams.add(stream)
    signal.addEventListener("abort", leave)
    return new ReadableStream<Uint8Array>(
      {
        start: (given) => {
          controller = given
          // So that a client that is cut before its first event knows where it stood.
          send(`retry: ${retryMillis}\nid: ${told}\n\n`)
          if (signal.aborted) leave()
        },
        pull,
        cancel: end,
      },
      { highWaterMark: 1 },
    )
  }

  return {
    open,
    size: () => streams.size,
    stop: async () => {
      const late = setTimeout(() => {
        for (const each of streams) each.cut("The server stops")
      }, stopMillis)
      await Promise.all([...streams].map(({ over }) => over))
      clearTimeout(late)
    },
  }
}

const encoder = new TextEncoder()

// JSON has no line break of its own, so each event is one line of data.
const lines = (event: CloudEvent): string =>
  `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

/** Told in the place of events that are not kept any more. */
export const gapEvent = (id: string): CloudEvent => ({
  specversion: "1.0",
  id,
  source: "/events",
  type: "uhrwerk.gap",
  time: new Date().toISOString(),
  datacontenttype: "application/json",
  data: {
    reason: "Events after the one that was named are not kept any more, or it is of another store",
    next: "Read what matters to you anew, such as GET /v1/runs; the events that follow are complete again",
  },
})

const pauseMillis = 500
