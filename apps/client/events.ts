// Events as they happen (server-sent events): read bit by bit, and gone on with after the last one when the connection ends.
import type { Endpoint } from "../api/Endpoint.ts"
import { ApiProblem, NoAnswer } from "./errors.ts"
import { type AnyCall, backOff, pause, send, type Sender } from "./request.ts"

/** One event. */
export interface StreamedEvent {
  /** To go on after it; `null`: the server gave none. */
  readonly id: string | null
  /** Its type, default `message`. */
  readonly event: string
  /** Its data: JSON as what it says, any other text as it is. */
  readonly data: unknown
}

// A server says something every few seconds, if only that it is there.
const silenceMillisMax = 30_000
const charactersMax = 4 * 1_048_576

// Long enough for a server to start again.
const retriesUsual = 20

/**
 * Events of a route, without an end: when the connection ends it is made again, from the last event's id on. Rejects when
 * nothing was heard `retries` times in a row (default 20, a minute or so), on a refusal that is not to be repeated, and
 * with the reason of `signal`.
 */
export async function* streamOf(
  sender: Sender,
  endpoint: Endpoint,
  call: AnyCall & { readonly lastEventId?: string },
): AsyncGenerator<StreamedEvent, void, undefined> {
  const { signal, retries = retriesUsual } = call
  let lastId = call.lastEventId ?? null
  let failed = 0
  const heard = (): void => {
    failed = 0
  }
  for (;;) {
    failed++
    const leave = new AbortController()
    const end = (): void => leave.abort(signal?.reason)
    signal?.addEventListener("abort", end, { once: true })
    const headers = {
      ...call.headers,
      accept: "text/event-stream",
      ...(lastId === null ? {} : { "last-event-id": lastId }),
    }
    let wait = 0
    try {
      const asked = { ...call, headers, retries: 0, signal: leave.signal }
      const response = await send(sender, endpoint, asked, async (given) => given)
      yield* eventsOf(response, leave, heard, (id) => (lastId = id))
      if (failed > retries) throw new NoAnswer("connection", "The events ended again and again")
    } catch (error) {
      signal?.throwIfAborted()
      const isPassing = error instanceof ApiProblem ? error.retryable : error instanceof NoAnswer
      if (!isPassing || (error as NoAnswer).why === "redirect" || failed > retries) throw error
      wait = error instanceof ApiProblem ? (error.retryAfterMillis ?? 0) : 0
    } finally {
      // Whoever leaves the loop leaves the connection, too.
      leave.abort()
      signal?.removeEventListener("abort", end)
    }
    await pause(wait + backOff(failed), signal)
  }
}

async function* eventsOf(
  response: Response,
  leave: AbortController,
  heard: () => void,
  onId: (id: string) => void,
): AsyncGenerator<StreamedEvent> {
  if (response.body === null) return
  const reader = response.body.getReader()
  // A connection can be gone without a word: silence is the only sign.
  let timer: ReturnType<typeof setTimeout> | undefined
  const listen = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => leave.abort(new NoAnswer("timeout", "The events fell silent")), silenceMillisMax)
  }
  // Not left to the body: one that a caller's own `fetch` made may know nothing of the signal.
  const end = (): void => void reader.cancel().catch(() => undefined)
  leave.signal.addEventListener("abort", end, { once: true })
  const decoder = new TextDecoder()
  const parse = makeEventParser(onId)
  try {
    for (;;) {
      listen()
      const { value, done } = await reader.read().catch(() => {
        throw cut()
      })
      if (leave.signal.aborted) throw leave.signal.reason instanceof NoAnswer ? leave.signal.reason : cut()
      if (done) return
      if (value.length > 0) heard()
      yield* parse(decoder.decode(value, { stream: true }))
    }
  } finally {
    clearTimeout(timer)
    leave.signal.removeEventListener("abort", end)
    end()
  }
}

const cut = (): NoAnswer => new NoAnswer("connection", "The connection of the events was cut")

/**
 * Takes the text of a stream in pieces of any size, and answers the events that are whole by then. `onId` hears where to go
 * on after them, which a server also says without an event: that nothing is wanted of what came before.
 */
export const makeEventParser = (
  onId: (id: string) => void = () => undefined,
): ((piece: string) => ReadonlyArray<StreamedEvent>) => {
  let rest = ""
  let size = 0
  let data: Array<string> = []
  let event = ""
  let id: string | null = null
  let whole: string | null = null
  const field = (line: string): void => {
    const colon = line.indexOf(":")
    if (colon === 0) return
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "")
    if (name === "data") data.push(value)
    else if (name === "event") event = value
    else if (name === "id" && !value.includes("\0")) id = value
  }
  return (piece) => {
    const out: Array<StreamedEvent> = []
    rest += piece
    // A CR at the end may be the first half of a line's end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ""
    for (const line of lines) {
      size += line.length
      if (line !== "") field(line)
      else {
        if (data.length > 0) out.push({ id, event: event || "message", data: valueOf(data.join("\n")) })
        whole = id
        data = []
        event = ""
        size = 0
      }
    }
    if (rest.length + size > charactersMax) throw new NoAnswer("unreadable", "An event is too large")
    if (whole !== null) onId(whole)
    return out
  }
}

const valueOf = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
