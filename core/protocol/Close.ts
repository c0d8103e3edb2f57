// Why a connection ends, as the number and the few words that WebSocket carries, and what a worker does next.
import { utf8Length } from "../domain/Payload.ts"
import { closeReasonBytesMax } from "./Limits.ts"

/**
 * When a worker connects again. `soon`: full jitter from the first try, and it asks to resume. `later`: not before
 * `laterMillis`, as trying at once would meet the same. `never`: it stops with an error, as only a person can help.
 */
export type Reconnect = "soon" | "later" | "never"

/** A close code. */
export interface CloseCode {
  readonly name: string
  readonly meaning: string
  readonly reconnect: Reconnect
  /** Who sends it; `both` also stands for what a runtime or a network makes up. */
  readonly from: "server" | "worker" | "both"
}

const code = (name: string, reconnect: Reconnect, from: CloseCode["from"], meaning: string): CloseCode => ({
  name,
  meaning,
  reconnect,
  from,
})

/** All codes that a worker meets. A worker itself sends 1000 and 4xxx only: Node and Deno refuse others. */
export const closeCodes: ReadonlyMap<number, CloseCode> = new Map([
  [0, code("cut", "soon", "both", "Deno's word for 1006")],
  [1000, code("done", "never", "both", "The worker said bye, or its server needs it no more")],
  [1001, code("away", "soon", "server", "The server stops")],
  [1003, code("binary", "later", "server", "A binary frame: the protocol has text only")],
  [1005, code("cut", "soon", "both", "Closed without a code")],
  [1006, code("cut", "soon", "both", "The connection broke")],
  [1007, code("notUtf8", "later", "server", "A text frame that is not UTF-8")],
  [1008, code("policy", "later", "server", "Refused by a transport's own rule, such as too many fragments")],
  [1009, code("tooLarge", "later", "server", "A frame over `frameBytesMax`")],
  [1011, code("failure", "soon", "server", "The server's transport failed")],
  [1012, code("restart", "soon", "server", "The server restarts")],
  [1013, code("tryLater", "later", "server", "The server has no room for another connection now")],
  [
    4400,
    code("badMessage", "later", "both", "A message that the protocol does not allow; an `error` said which"),
  ],
  [4401, code("token", "never", "server", "No token, or one that is unknown, expired or revoked")],
  [4403, code("notAllowed", "never", "server", "The token does not allow this name or these queues")],
  [4406, code("protocol", "never", "server", "No version of the protocol in common")],
  [4408, code("silence", "soon", "both", "No hello in time, or no sign of life")],
  [4409, code("replaced", "never", "server", "A newer process has the worker's name")],
  [4410, code("leaseLost", "soon", "server", "Silent for too long: the runs were given to others")],
  [4429, code("tooMany", "later", "server", "More messages a second than the server allows")],
  [4500, code("server", "soon", "server", "The server failed")],
])

/** The code of a name. */
export const closeOf = {
  done: 1000,
  restart: 1012,
  tryLater: 1013,
  tooLarge: 1009,
  binary: 1003,
  badMessage: 4400,
  token: 4401,
  notAllowed: 4403,
  protocol: 4406,
  silence: 4408,
  replaced: 4409,
  leaseLost: 4410,
  tooMany: 4429,
  server: 4500,
} as const

/** A code that one of us sends. */
export type CloseName = keyof typeof closeOf

/** What a worker does after this code; after an unknown one it tries again. */
export const reconnectAfter = (closed: number): Reconnect =>
  closeCodes.get(closed)?.reconnect ?? (closed >= 4000 ? "later" : "soon")

/** First step of the wait before a new connection, in milliseconds: the first wait is below it. */
export const firstWaitMillis = 500
/** The longest wait before a new connection, in milliseconds. */
export const waitMaxMillis = 30_000
/** The shortest wait after a code that says `later`, in milliseconds. */
export const laterMillis = 5_000
/** A connection that was open this long starts the waits anew. */
export const stableMillis = 30_000

/**
 * How long to wait before try `tries + 1`, in milliseconds: full jitter, anything from 0 to
 * `firstWaitMillis * 2 ** tries`, at most `waitMaxMillis`; so workers that lost their server together come back
 * apart. After a `later` at least `laterMillis` on top. `random` is in [0, 1).
 */
export const waitMillis = (tries: number, random: number, reconnect: Exclude<Reconnect, "never">): number =>
  Math.floor(random * Math.min(waitMaxMillis, firstWaitMillis * 2 ** Math.min(tries, 16))) +
  (reconnect === "later" ? laterMillis : 0)

/** A reason that a close frame can carry: at most 123 bytes in UTF-8, cut between characters. */
export const closeReason = (text: string): string => {
  if (utf8Length(text) <= closeReasonBytesMax) return text
  let cut = ""
  for (const character of text) {
    // The sign for what was left out takes three bytes.
    if (utf8Length(cut + character) > closeReasonBytesMax - 3) break
    cut += character
  }
  return `${cut}…`
}
