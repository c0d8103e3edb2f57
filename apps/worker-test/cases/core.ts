// Core: hello, assignments, results, failures, cancels.
import { type Case, must, patience, type Scene, Unmet } from "../Case.ts"
import { jobs } from "../jobs.ts"
import {
  acked,
  acksOf,
  endedAs,
  endsOf,
  failedAs,
  heard,
  linesOf,
  outcomeOf,
  pause,
  succeededWith,
} from "../look.ts"
import { path, slots, type Stage } from "../Stage.ts"

const connect: Case = {
  id: "core.connect",
  expects: "it offers the subprotocol uhrwerk.worker.v1 alone, and says its token in the header or in hello",
  why: "servers and proxies pick the first of several; a token in an address ends in logs",
  see: "Connection",
  points: 1,
  run: async (stage) => {
    const [first] = stage.entries.filter((entry) => entry.kind === "opened")
    if (first?.kind !== "opened") throw new Unmet("a connection", "none")
    const { offered, headers, path: asked } = first.request
    must(offered.join() === "uhrwerk.worker.v1", "it offers uhrwerk.worker.v1", offered.join() || "nothing")
    must(asked === path, `it connects to ${path}`, asked.replaceAll(stage.token, "..."))
    const header = headers.get("authorization") === `Bearer ${stage.token}`
    const said = stage.hellos[0]?.token === stage.token
    must(header || said, "its token is in the header Authorization, or in hello", "it is in neither")
  },
}

const hello: Case = {
  id: "core.hello",
  expects: "its first message is a hello with its name, its slots, all jobs of the kit and nothing in hand",
  why: "a server gives a worker what it says that it can do, and no more",
  see: "hello (worker)",
  points: 1,
  run: async (stage) => {
    const first = stage.hellos[0]
    if (first === undefined) throw new Unmet("a hello", "none")
    must(first.worker === stage.name, `worker is "${stage.name}" (UHRWERK_WORKER)`, first.worker)
    must(first.slots === slots, `slots is ${slots} (UHRWERK_SLOTS)`, first.slots)
    const missing = jobs.filter((job) => !first.jobs.includes(job))
    must(missing.length === 0, `jobs has ${jobs.join(", ")}`, `it lacks ${missing.join(", ")}`)
    must(first.connection === 1 && first.session === null, "connection is 1 and session null", first)
    must(first.inHand.length === 0, "inHand is empty", first.inHand)
    must(first.capabilities.includes("resume"), 'capabilities has "resume"', first.capabilities)
  },
}

const echo: Case = {
  id: "core.result",
  expects: "a run of kit.echo succeeds with its input as output",
  why: "that is what workers are for",
  see: "result (worker)",
  points: 1,
  run: async (stage) => {
    const input = { text: "Grüße", list: [1, 2.5, null, true], nested: { a: { b: [] } } }
    await succeededWith(stage, stage.assign("kit.echo", input), input)
  },
}

const nothing: Case = {
  id: "core.nothing",
  expects: "an input of null, which is none, is no failure",
  why: "most scheduled runs have no input",
  see: "Connection",
  points: 1,
  run: async (stage) => {
    await succeededWith(stage, stage.assign("kit.echo", undefined), null)
  },
}

const started: Case = {
  id: "core.started",
  expects: "it acknowledges a run as started before its handler does anything",
  why: "an attempt that is lost and was not started costs no attempt: a handler that runs unseen may run again",
  see: "rule 2",
  points: 2,
  run: async (stage) => {
    const attempt = stage.assign("kit.log", { lines: 1 })
    await outcomeOf(stage, attempt)
    const [ack] = acksOf(stage, attempt).filter(({ result }) => result === "started")
    if (ack === undefined) throw new Unmet("an ack of started", "none came")
    const signs = [...heard(stage, "log"), ...heard(stage, "progress"), ...endsOf(stage, attempt)]
    const first = Math.min(...signs.map(({ at }) => at))
    must(ack.at <= first, "the ack of started comes first", "the handler's words came before it")
  },
}

const failure: Case = {
  id: "core.failure",
  expects: "a handler that fails is a failure with its message, that may be tried again",
  why: "its message is what a person reads; retries are the server's to decide",
  see: "failure (worker)",
  points: 1,
  run: async (stage) => {
    const attempt = stage.assign("kit.fail", { message: "the disk is full", retryable: true })
    const { error, retryable } = await failedAs(stage, attempt, "error")
    must(error.message.includes("the disk is full"), "message says what the handler said", error.message)
    must(retryable, "retryable is true", retryable)
    await succeededWith(stage, stage.assign("kit.echo", 1), 1)
  },
}

const final: Case = {
  id: "core.final",
  expects: "a failure that no further attempt can mend says retryable: false",
  why: "otherwise a run that cannot succeed uses up all its attempts",
  see: "failure (worker)",
  points: 1,
  run: async (stage) => {
    const attempt = stage.assign("kit.fail", { message: "no such account", retryable: false })
    must(!(await failedAs(stage, attempt, "error")).retryable, "retryable is false", true)
  },
}

const log: Case = {
  id: "core.log",
  expects: "the lines of a handler arrive in their order, and how far it is",
  why: "that is all that people see of a run that takes long",
  see: "log (worker)",
  points: 1,
  run: async (stage) => {
    const attempt = stage.assign("kit.log", { lines: 3 })
    await outcomeOf(stage, attempt)
    const lines = await stage.until("three lines", () => {
      const found = linesOf(stage, attempt)
      return found.length >= 3 ? found : undefined
    })
    must(lines.join() === "line 1,line 2,line 3", "line 1, line 2, line 3", lines)
    await stage.until("progress of 50 percent", () =>
      heard(stage, "progress").some(({ message }) => message.percent === 50),
    )
    const [end] = endsOf(stage, attempt)
    const late = heard(stage, "log").filter(({ at }) => end !== undefined && at > end.at)
    must(
      late.length === 0,
      "its lines come before its result: later ones are thrown away",
      "a log came after it",
    )
  },
}

const noHandler: Case = {
  id: "core.noHandler",
  expects: "a job that it has no handler for is refused with noHandler",
  why: "the server gives it to another worker then, and no attempt is used",
  see: "ack (both)",
  points: 1,
  run: async (stage) => {
    const attempt = stage.assign("kit.unheard", {})
    const { reason } = await acked(stage, attempt, "refused")
    must(reason === "noHandler", "the reason is noHandler", reason)
    await succeededWith(stage, stage.assign("kit.echo", 1), 1)
  },
}

const atOnce: Case = {
  id: "core.slots",
  expects:
    "as many handlers run at once as it has slots, and no more: the next one waits, or is refused as full",
  why: "slots are a promise in both directions",
  see: "rule 2",
  points: 1,
  run: async (stage) => {
    const running = [
      stage.assign("kit.sleep", { millis: 3_000 }),
      stage.assign("kit.sleep", { millis: 3_000 }),
    ]
    for (const each of running) await acked(stage, each, "started")
    must(
      running.every((each) => endsOf(stage, each).length === 0),
      "both run at once",
      "one ended before the other began",
    )
    const third =
      (stage.hello.prefetch ?? 0) > 0 ? stage.assign("kit.echo", "third") : stage.press("kit.echo", "third")
    const first = await stage.until("an answer to a third one", () => acksOf(stage, third)[0])
    const waits = first.result === "waiting" || (first.result === "refused" && first.reason === "full")
    must(waits, "the third one is acknowledged as waiting, or refused as full", first)
    for (const each of running) await endedAs(stage, each, "succeeded")
    if (first.result === "waiting") await succeededWith(stage, third, "third")
  },
}

const overfull: Case = {
  id: "core.full",
  expects: "what goes beyond slots and prefetch is refused as full",
  why: "a run that waits unseen in one worker waits while others are idle",
  see: "rule 2",
  points: 1,
  run: async (stage) => {
    const room = slots + (stage.hello.prefetch ?? 0)
    const inHand = Array.from({ length: room }, () => stage.assign("kit.sleep", { millis: 20_000 }))
    const beyond = stage.press("kit.echo", 1)
    const { reason } = await acked(stage, beyond, "refused")
    must(reason === "full", "the reason is full", reason)
    const ended = inHand.filter((each) => endsOf(stage, each).length > 0)
    must(ended.length === 0, "what it has goes on", ended)
  },
}

const stopped = (reason: "cancelled" | "timeout"): Case => ({
  id: `core.${reason === "timeout" ? "cancelTimeout" : "cancel"}`,
  expects: `a cancel with the reason ${reason} stops the handler, which is reported as a failure of that kind`,
  why: "a handler that goes on does work that nobody wants any more, in a slot that others wait for",
  see: "rule 7",
  points: 1,
  run: async (stage) => {
    const attempt = stage.assign("kit.sleep", { millis: 20_000 })
    await acked(stage, attempt, "started")
    stage.step({ kind: "stop", ...attempt, reason })
    await failedAs(stage, attempt, reason)
    await pause(100)
    must(endsOf(stage, attempt).length === 1, "one failure", endsOf(stage, attempt).length)
  },
})

const cancelWaiting: Case = {
  id: "core.cancelWaiting",
  expects: "a cancel of a run that waits hands it back as released, and it is not begun",
  why: "it was not begun, so no attempt is used",
  see: "cancel (server)",
  points: 1,
  run: async (stage) => {
    const { waiting } = await occupied(stage, 20_000)
    if (waiting === null) return
    stage.step({ kind: "stop", ...waiting, reason: "cancelled" })
    await endedAs(stage, waiting, "released")
    const begun = acksOf(stage, waiting).some(({ result }) => result === "started")
    must(!begun, "it is not begun", "it was acknowledged as started")
  },
}

const cancelUnknown: Case = {
  id: "core.cancelUnknown",
  expects: "a cancel of an attempt that it does not have is answered refused, over",
  why: "a cancel comes again until its end is there",
  see: "cancel (server)",
  points: 1,
  run: async (stage) => {
    const attempt = stage.rows.make({})
    stage.say(JSON.stringify({ type: "cancel", id: "x2", ...attempt, reason: "cancelled" }))
    const { reason } = await acked(stage, attempt, "refused")
    must(reason === "over", "the reason is over", reason)
  },
}

const timeout: Case = {
  id: "core.timeout",
  expects: "it stops a handler after timeoutMillis by itself, and reports a failure of the kind timeout",
  why: "the server's own clock for it is a second line, and may be behind a dead connection",
  see: "assign (server)",
  points: 1,
  run: async (stage) => {
    const begin = performance.now()
    const attempt = stage.assign("kit.sleep", { millis: 20_000 }, { timeoutMillis: 300 })
    await failedAs(stage, attempt, "timeout")
    const took = performance.now() - begin
    must(took >= 250, "not before the 300 ms are over", `after ${Math.round(took)} ms`)
  },
}

const many: Case = {
  id: "core.many",
  expects: "sixty runs, given as it has room, each end once with their own output",
  why: "workers live longer than one run",
  see: "rule 4",
  points: 1,
  run: async (stage) => {
    for (let number = 0; number < 60; number += slots) {
      const some = Array.from(
        { length: slots },
        (_, at) => [stage.assign("kit.echo", number + at), number + at] as const,
      )
      for (const [attempt, value] of some) await succeededWith(stage, attempt, value)
      for (const [attempt] of some)
        must(endsOf(stage, attempt).length === 1, "one result each", endsOf(stage, attempt).length)
    }
  },
}

/** All slots taken for so long, and one that waits behind them, where the worker takes more than it has slots. */
export const occupied = async (
  stage: Stage,
  millis: number,
  job = "kit.sleep",
): Promise<{
  running: ReadonlyArray<ReturnType<Stage["assign"]>>
  waiting: ReturnType<Stage["assign"]> | null
}> => {
  const running = Array.from({ length: slots }, () => stage.assign(job, { millis }))
  for (const each of running) await acked(stage, each, "started")
  if ((stage.hello.prefetch ?? 0) === 0) return { running, waiting: null }
  const waiting = stage.assign("kit.log", { lines: 1 })
  await acked(stage, waiting, "waiting", patience)
  return { running, waiting }
}

export const core: ReadonlyArray<Scene> = [
  {
    cases: [connect, hello, echo, nothing, started, failure, final, log, noHandler, many],
  },
  { cases: [atOnce] },
  { cases: [overfull] },
  { cases: [cancelWaiting] },
  { cases: [stopped("cancelled"), stopped("timeout"), cancelUnknown, timeout] },
]
