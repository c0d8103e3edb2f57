// An Uhrwerk worker in one file for Deno, without dependencies. Copy it, put your own handlers where those of the kit
// are, and start it: UHRWERK_URL=ws://127.0.0.1:8080/v1/worker UHRWERK_TOKEN=... deno run --allow-net --allow-env worker.ts
// It keeps the ten rules of core/protocol/README.md, which are named where they are kept.
declare const Deno: any
type Fields = Record<string, any>
/** What a handler gets beside its input. `key.run` is the idempotency key of what it does. */
interface Context {
  readonly key: { readonly run: string; readonly attempt: number; readonly token: number }
  /** Aborted when the attempt is to stop: its time is up, it was cancelled, or it is another worker's. */
  readonly signal: AbortSignal
  readonly log: (text: string, level?: "debug" | "info" | "warn" | "error") => void
  readonly progress: (percent: number | null, note?: string) => void
}
const handlers = new Map<string, (input: any, context: Context) => unknown>()
const job = (name: string, handler: (input: any, context: Context) => unknown) => handlers.set(name, handler)
/** A failure that no further attempt can mend. Whatever else a handler throws may be tried again. */
class Final extends Error {}
const pause = (millis: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    setTimeout(resolve, millis)
    signal?.addEventListener("abort", () => reject(new Error(`The attempt was stopped: ${signal.reason}`)))
  })

// ---- Your jobs: these are the kit's.
job("kit.echo", (input) => input)
job("kit.fail", ({ message, retryable }) => Promise.reject(new (retryable ? Error : Final)(message)))
job("kit.sleep", ({ millis }, { signal }) => pause(millis, signal))
job("kit.deaf", ({ millis }) => pause(millis))
job("kit.log", (input, { log, progress }) => {
  for (let line = 1; line <= (input?.lines ?? 3); line++) log(`line ${line}`)
  progress(50, "half")
})
job("kit.repeat", ({ text, times }) => text.repeat(times))
// ---- The protocol.
const env = (name: string, usual: string): string => Deno.env.get(name) ?? usual
const url = env("UHRWERK_URL", "ws://127.0.0.1:8080/v1/worker")
const [slots, prefetch] = [Number(env("UHRWERK_SLOTS", "4")), Number(env("UHRWERK_PREFETCH", "0"))]
const drainMillis = Number(env("UHRWERK_DRAIN_MILLIS", "30000"))
const incarnation = crypto.randomUUID()
const never = [1000, 4401, 4403, 4406, 4409]
const [later, soon] = [
  [1003, 1007, 1008, 1009, 1013],
  [4408, 4410, 4500],
]
const ofWorkers = ["hello", "progress", "log", "result", "failure", "bye"]
/** The fields that a message of the server must have, and their kinds. */
const must: Readonly<Record<string, string>> = {
  welcome: "session:string heartbeatMillis:number suspectMillis:number leaseMillis:number inHand:object",
  assign: "run:string attempt:number token:number job:string",
  cancel: "run:string attempt:number token:number reason:string",
  ack: "acks:object",
  heartbeat: "at:number",
  drain: "graceMillis:number",
  error: "code:string",
}
/** An attempt, until its end is acknowledged (rule 5). */
const attemptOf = (assign: Fields) => ({
  key: { run: assign.run as string, attempt: assign.attempt as number, token: assign.token as number },
  assign,
  stop: new AbortController(),
  state: "waiting" as "waiting" | "running" | "ended",
  ended: {} as Fields,
  againAt: 0,
  againMillis: 0,
  lines: [] as Array<Fields>,
  dropped: 0,
  latest: null as Fields | null,
})
type Attempt = ReturnType<typeof attemptOf>
const hand = new Map<string, Attempt>()
const strays = new Set<string>() // Handlers that run for nobody, and still take a slot.
const newest = new Map<string, number>() // The newest token that was taken, by run (rule 3).
let socket: WebSocket | null = null
let welcome: Fields = {}
let [connection, tries, ids, drainEnd] = [0, 0, 0, Infinity]
let [connectAt, openedAt, heardAt, cutAt, cutMillis, provenAt, beatAt, logAt] = [0, 0, 0, 0, 0, 0, 0, 0]
let [isOpen, leaving, saidBye, letGo] = [false, false, false, true] // Let go: its runs may be another's.
let beaten: { readonly id: string | null; readonly at: number } = { id: null, at: 0 }
const now = (): number => performance.now()
const idOf = ({ run, token }: Fields): string => `${run} ${token}`
const bytesOf = (text: string): number => new TextEncoder().encode(text).length
const all = (state: string): Array<Attempt> => [...hand.values()].filter((one) => one.state === state)
const running = (): number => strays.size + all("running").length
/** Sends a message; answers its id, or null if it is larger than a frame may be. */
const send = (type: string, fields: Fields): string | null => {
  const id = `w${++ids}`
  const frame = JSON.stringify({ type, id, ...fields })
  if (bytesOf(frame) > (welcome.frameBytesMax ?? 1_048_576)) return null
  if (socket?.readyState === WebSocket.OPEN) socket.send(frame)
  return id
}
const ack = ({ run, attempt, token }: Fields, result: string, reason?: string) =>
  send("ack", { acks: [{ run, attempt, token, result, reason }] })

const connect = (): void => {
  const mine = (socket = new WebSocket(url, "uhrwerk.worker.v1"))
  openedAt = now()
  connection++
  mine.onopen = () => {
    if (socket !== mine) return
    const worker = env("UHRWERK_WORKER", "deno")
    const who = { worker, token: env("UHRWERK_TOKEN", ""), incarnation, connection, slots, prefetch }
    const about = { runtime: `deno ${Deno.version.deno}`, version: "1.0.0", capabilities: ["resume"] }
    const inHand = [...hand.values()].map(({ key, state }) => ({ ...key, state }))
    send("hello", { ...who, ...about, session: welcome.session ?? null, jobs: [...handlers.keys()], inHand })
  }
  mine.onmessage = ({ data }) => socket === mine && heard(String(data))
  mine.onclose = ({ code }) => socket === mine && closed(code)
}
const close = (code: number, reason: string): void => (socket?.close(code, reason), closed(code))
const closed = (code: number): void => {
  if (isOpen) {
    cutAt = now()
    cutMillis = (code === 1012 ? welcome.restartMillis : null) ?? welcome.graceMillis
    if (code === 1012 || cutAt - openedAt >= 30_000) tries = 0
  }
  socket = null
  isOpen = false
  if (never.includes(code)) {
    console.error(`The server closed with ${code}: core/protocol/README.md says why`)
    Deno.exit(code === 1000 ? 0 : 1)
  }
  // A random part from the first try: a server that restarts would meet all its workers at once.
  const isLater = later.includes(code) || (code >= 4000 && !soon.includes(code))
  connectAt = now() + Math.random() * Math.min(30_000, 500 * 2 ** tries++) + (isLater ? 5_000 : 0)
}
const refuse = (code: string, message: string, fields: Fields = {}): void => (
  send("error", { code, message, ...fields }),
  close(4400, message)
)
const heard = (frame: string): void => {
  let message: Fields
  try {
    message = JSON.parse(frame)
  } catch {
    return refuse("badJson", "it is no JSON")
  }
  if (typeof message !== "object" || message === null || Array.isArray(message))
    return refuse("noObject", "it is no JSON object")
  const { type, id: of } = message
  if (typeof type !== "string") return refuse("badField", "it has no type", { of, field: "type" })
  if (ofWorkers.includes(type)) return refuse("wrongSide", `a server does not send "${type}"`, { of })
  if (!Object.hasOwn(must, type))
    return void send("error", { code: "unknownType", message: `"${type.slice(0, 64)}" is not known`, of })
  for (const [name = "", kind] of must[type]!.split(" ").map((field) => field.split(":")))
    if (typeof message[name] !== kind)
      return refuse("badField", `it is no ${kind}`, { of, field: `${type}.${name}` })
  // Until the welcome nothing else counts (rule 1).
  if (!isOpen && type !== "welcome") return
  heardAt = now()
  hears[type]!(message)
  beginNext()
  sayBye()
}
const hears: Readonly<Record<string, (message: Fields) => unknown>> = {
  welcome: (message) => {
    welcome = message
    isOpen = true
    letGo = saidBye = false
    provenAt = openedAt // The server answered the hello, so it knew of us when that was sent.
    beatAt = now() + welcome.heartbeatMillis
    if (!leaving) drainEnd = Infinity
    for (const each of welcome.inHand) if (each.verdict !== "keep") drop(hand.get(idOf(each))) // Rule 6.
    for (const attempt of hand.values()) attempt.againMillis = 0
    all("ended").forEach(sendEnded)
    if (leaving) send("drain", { graceMillis: Math.max(0, Math.round(drainEnd - now())), reason: "SIGTERM" })
    if (strays.size > 0) beat()
  },
  assign: (assign) => {
    const { run, token, job } = assign
    const known = hand.get(idOf(assign))
    if (known?.state === "ended") return sendEnded(known) // It comes again, as our answer did not arrive.
    if (known !== undefined) return ack(assign, known.state === "running" ? "started" : "waiting")
    if ((newest.get(run) ?? 0) >= token) return ack(assign, "refused", "over") // Rule 3.
    if (drainEnd < Infinity) return ack(assign, "refused", "draining")
    if (!handlers.has(job)) return ack(assign, "refused", "noHandler")
    if (hand.size >= slots + prefetch) return ack(assign, "refused", "full")
    for (const older of [...hand.values()].filter(({ key }) => key.run === run)) drop(older)
    newest.delete(run)
    newest.set(run, token)
    if (newest.size > 9_999) newest.delete(newest.keys().next().value!)
    hand.set(idOf(assign), attemptOf(assign))
    beginNext()
    if (hand.get(idOf(assign))?.state === "waiting") ack(assign, "waiting")
  },
  ack: ({ acks }) => {
    for (const each of acks) if (["settled", "stale"].includes(each.result)) drop(hand.get(idOf(each)))
  },
  heartbeat: ({ of }) => of === beaten.id && (provenAt = beaten.at), // Only an answer proves something.
  cancel: (cancel) => {
    const attempt = hand.get(idOf(cancel))
    if (attempt === undefined) ack(cancel, "refused", "over")
    else if (attempt.state === "waiting") finish(attempt, released)
    else attempt.stop.abort(cancel.reason)
  },
  drain: ({ graceMillis }) => leaving || startDrain(graceMillis),
  error: ({ code, message }) => console.error(`The server says ${code}: ${message}`),
}
/** Begins what waits, while there are slots and a connection (rule 10). */
const beginNext = (): void => {
  if (!isOpen || drainEnd < Infinity || letGo) return
  const ready = all("waiting").filter(({ key }) => ![...strays].some((id) => id.startsWith(`${key.run} `)))
  for (const attempt of ready.slice(0, Math.max(0, slots - running()))) {
    attempt.state = "running"
    ack(attempt.key, "started") // Before the handler is called (rule 2).
    void call(attempt)
  }
}
const released = { type: "result", outcome: { kind: "released" } }
const failure = (name: string, message: string, kind: string, retryable: boolean): Fields => {
  const error = { name: name.slice(0, 128), message: message.slice(0, 2_048), kind }
  return { type: "failure", error, retryable, retryAfterMillis: null }
}
const tooLarge = failure("Payload", "The output is too large: pass a reference to it", "payload", false)
const call = async (attempt: Attempt): Promise<void> => {
  const { key, stop, lines } = attempt
  const { job, input, timeoutMillis } = attempt.assign
  const millis = timeoutMillis === null || timeoutMillis >= 2 ** 31 ? 2 ** 31 - 1 : timeoutMillis
  const timer = setTimeout(() => stop.abort("timeout"), millis)
  const log: Context["log"] = (text, level = "info") =>
    lines.length < 1_000
      ? lines.push({ at: Date.now(), level, text: text.slice(0, 2_048) })
      : attempt.dropped++
  const progress: Context["progress"] = (percent, note = "") =>
    (attempt.latest = { percent, note: note.slice(0, 2_048) })
  let end: Fields
  try {
    const context = { key, signal: stop.signal, log, progress }
    const output = JSON.stringify(await handlers.get(job)!(JSON.parse(input), context)) ?? null
    end = { type: "result", outcome: { kind: "succeeded", output } }
    if (bytesOf(output ?? "") > welcome.payloadBytesMax) end = tooLarge
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    const { aborted, reason } = stop.signal
    const kind = !aborted ? "error" : reason === "timeout" ? "timeout" : "cancelled"
    end = failure(name, message, kind, !(error instanceof Final))
  }
  clearTimeout(timer)
  strays.delete(idOf(key))
  if (attempt.state === "running" && hand.get(idOf(key)) === attempt) finish(attempt, end)
  beginNext()
}
/** It has ended: that is told until it is acknowledged (rule 4). */
const finish = (attempt: Attempt, ended: Fields): void => {
  flush(attempt)
  attempt.state = "ended"
  attempt.ended = ended
  if (isOpen) sendEnded(attempt)
}
const sendEnded = (attempt: Attempt): void => {
  const { type, ...fields } = attempt.ended
  if (send(type, { ...attempt.key, ...fields }) === null) return finish(attempt, tooLarge)
  attempt.againMillis = Math.min(60_000, attempt.againMillis * 2 || 5_000)
  attempt.againAt = now() + attempt.againMillis
}
/** Its end is acknowledged, or it is another worker's: if its handler runs, it runs for nobody. */
const drop = (attempt: Attempt | undefined): void => {
  if (attempt === undefined) return
  hand.delete(idOf(attempt.key))
  if (attempt.state === "running") strays.add(idOf(attempt.key))
  attempt.stop.abort("leaseLost")
}
/** Sends what the handler wrote, a hundred lines at a time. */
const flush = (attempt: Attempt): void => {
  const { key, lines, latest } = attempt
  if (!isOpen) return
  while (lines.length > 0) {
    send("log", { ...key, lines: lines.splice(0, 100), dropped: attempt.dropped })
    attempt.dropped = 0
  }
  if (latest !== null) send("progress", { ...key, ...latest })
  attempt.latest = null
}
const startDrain = (graceMillis: number): void => {
  drainEnd = now() + graceMillis
  for (const attempt of all("waiting")) finish(attempt, released)
}
const sayBye = (): void => {
  if (drainEnd === Infinity || hand.size > 0 || saidBye) return
  saidBye = isOpen
  if (saidBye) send("bye", { reason: leaving ? "the worker stops" : "the server drains" })
  else if (leaving) Deno.exit(0)
}
const leave = (): void => {
  if (leaving) return
  leaving = true
  startDrain(drainMillis)
  if (isOpen) send("drain", { graceMillis: drainMillis, reason: "SIGTERM" })
}
for (const signal of ["SIGTERM", "SIGINT"]) Deno.addSignalListener(signal, leave)
const beat = (): void => {
  const free = Math.max(0, slots - strays.size)
  beaten = { id: send("heartbeat", { at: Date.now(), slots: free, running: running() }), at: now() }
  beatAt = now() + welcome.heartbeatMillis
}
setInterval(() => {
  const time = now()
  const silent = provenAt + welcome.leaseMillis // Rule 9.
  if (!letGo && time >= (isOpen ? silent : Math.min(silent, cutAt + cutMillis))) {
    letGo = true
    all("waiting").forEach(drop)
    for (const { stop } of all("running")) stop.abort("leaseLost")
    if (isOpen) close(4408, "no heartbeat was answered in time")
  }
  for (const attempt of all("running")) {
    if (time >= logAt) flush(attempt)
    if (time < drainEnd) continue
    attempt.stop.abort("drain")
    strays.add(idOf(attempt.key)) // It may be deaf; the run need not wait for it.
    finish(attempt, released)
  }
  if (isOpen) for (const attempt of all("ended")) if (time >= attempt.againAt) sendEnded(attempt)
  if (time >= logAt) logAt = time + Math.max(250, 40 * slots)
  if (leaving && time >= drainEnd + 5_000) Deno.exit(0)
  if (socket === null && time >= connectAt) connect()
  else if (isOpen && time >= heardAt + welcome.suspectMillis) close(4408, "silence") // Rule 8.
  else if (isOpen && time >= beatAt) beat()
  else if (socket !== null && !isOpen && time >= openedAt + 10_000) close(4408, "no welcome")
  sayBye()
}, 50)
