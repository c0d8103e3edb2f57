// Reliable: what is lost on the way comes again, and nothing is begun or counted twice.
import { brisk, type Case, must, patience, type Scene, Unmet } from "../Case.ts"
import {
  acked,
  acksOf,
  endedAs,
  endsOf,
  heard,
  helloAfter,
  linesOf,
  outcomeOf,
  pause,
  succeededWith,
} from "../look.ts"
import type { Attempt } from "../Rows.ts"
import type { Stage } from "../Stage.ts"
import { occupied } from "./core.ts"

const named = (stage: Stage, attempt: Attempt): string | undefined =>
  stage.hello.inHand.find(({ run, token }) => run === attempt.run && token === attempt.token)?.state

const lostResult: Case = {
  id: "reliable.lostResult",
  expects:
    "a result that was lost with its connection is in hand as ended, and comes again after the verdict keep",
  why: "the work was done and its outcome would be lost",
  see: "rule 4",
  points: 2,
  run: async (stage) => {
    stage.loses = (from, { type }) => from === "worker" && type === "result"
    const attempt = stage.assign("kit.echo", "kept")
    await stage.until("a result", () => endsOf(stage, attempt)[0])
    stage.cut()
    stage.loses = () => false
    await helloAfter(stage, 1)
    must(named(stage, attempt) === "ended", `hello names ${attempt.run} as ended`, stage.hello.inHand)
    await succeededWith(stage, attempt, "kept")
    await stage.never("after its acknowledgement it is not sent again", () => endsOf(stage, attempt)[2], 300)
    await succeededWith(stage, stage.assign("kit.echo", 1), 1)
  },
}

const lostAck: Case = {
  id: "reliable.lostAck",
  expects: "a result whose acknowledgement was lost is in hand as ended; the verdict settled ends it",
  why: "what is settled is not told for ever",
  see: "rule 6",
  points: 1,
  run: async (stage) => {
    stage.loses = (from, { type }) => from === "server" && type === "ack"
    const attempt = stage.assign("kit.echo", "once")
    await outcomeOf(stage, attempt)
    stage.cut()
    stage.loses = () => false
    await helloAfter(stage, 1)
    must(named(stage, attempt) === "ended", `hello names ${attempt.run} as ended`, stage.hello.inHand)
    await stage.never("what is settled is not sent again", () => endsOf(stage, attempt)[1], 500)
    await succeededWith(stage, stage.assign("kit.echo", 1), 1)
  },
}

const again: Case = {
  id: "reliable.again",
  expects:
    "a result that is not acknowledged although the connection stays comes again after 5 s, and not after its ack",
  why: "a frame can be lost where no connection is",
  see: "rule 4",
  points: 2,
  run: async (stage) => {
    let lost = 0
    stage.loses = (from, { type }) => from === "worker" && type === "result" && ++lost === 1
    const attempt = stage.assign("kit.echo", "again")
    const first = await stage.until("a result", () => endsOf(stage, attempt)[0])
    const second = await stage.until("the result again", () => endsOf(stage, attempt)[1], 9_000)
    const after = Math.round(second.at - first.at)
    must(after >= 4_500 && after <= 8_000, "5 s after the first time", `${after} ms after it`)
    await succeededWith(stage, attempt, "again")
    await stage.never("after its acknowledgement it is not sent again", () => endsOf(stage, attempt)[2], 500)
  },
}

const duplicate: Case = {
  id: "reliable.duplicate",
  expects:
    "an assign that comes again is acknowledged again, or its result is sent again, and it is begun once",
  why: "it comes again whenever an acknowledgement was lost: a second begin does everything twice",
  see: "rule 3",
  points: 2,
  run: async (stage) => {
    const attempt = stage.assign("kit.log", { lines: 2 })
    const frame = stage.entries.findLast((entry) => entry.kind === "said")
    if (frame?.kind !== "said") throw new Unmet("an assign", "none")
    stage.say(frame.frame)
    await outcomeOf(stage, attempt)
    // It has ended, and that is acknowledged: what is left is to say that it is over.
    await pause(100)
    const answers = acksOf(stage, attempt).length
    stage.say(frame.frame)
    const last = await stage.until("an answer to the third one", () => acksOf(stage, attempt)[answers])
    must(last.result === "refused" && last.reason === "over", "the answer is refused, over", last)
    await pause(200)
    must(
      linesOf(stage, attempt).length === 2,
      "its handler wrote two lines",
      `${linesOf(stage, attempt).length}`,
    )
    const signs = acksOf(stage, attempt).length + endsOf(stage, attempt).length
    must(signs >= 3, "each of the three is answered", `${signs} answers`)
  },
}

const lowerToken: Case = {
  id: "reliable.lowerToken",
  expects: "an older token of a run is refused as over, and a newer one is begun",
  why: "an assign that was on its way for long is of an attempt that is over",
  see: "rule 3",
  points: 2,
  run: async (stage) => {
    const { run } = stage.rows.make({})
    const second = stage.assign("kit.log", { lines: 1 }, { run, attempt: 2, token: 1_000 })
    await endedAs(stage, second, "succeeded")
    const first = { run, attempt: 1, token: 999 }
    stage.say(
      JSON.stringify({ type: "assign", id: "x9", ...stage.rows.assignOf(first, "kit.log", { lines: 1 }) }),
    )
    const answer = await stage.until("an answer to the older token", () => acksOf(stage, first)[0])
    must(answer.result === "refused" && answer.reason === "over", "it is refused, over", answer)
    const third = stage.assign("kit.log", { lines: 1 }, { run, attempt: 3, token: 1_001 })
    await endedAs(stage, third, "succeeded")
  },
}

const lostAssign: Case = {
  id: "reliable.lostAssign",
  expects:
    "an assign that was lost with the connection is not named in hello, and is begun when it comes again",
  why: "what hello does not name is sent again: a name too many, and the run waits for nobody",
  see: "When the connection is cut",
  points: 1,
  run: async (stage) => {
    stage.loses = (from, { type }) => from === "server" && type === "assign"
    const attempt = stage.assign("kit.echo", "late")
    stage.cut()
    stage.loses = () => false
    await helloAfter(stage, 1)
    must(named(stage, attempt) === undefined, "hello does not name it", stage.hello.inHand)
    await succeededWith(stage, attempt, "late")
  },
}

const resume: Case = {
  id: "reliable.resume",
  expects: "after a cut it names what runs, resumes its session, and the handler goes on",
  why: "a short cut must not cost the work that was done",
  see: "rule 5",
  points: 2,
  run: async (stage) => {
    const attempt = stage.assign("kit.sleep", { millis: 1_500 })
    await acked(stage, attempt, "started")
    const before = stage.hello
    const session = stage.state?.session
    stage.cut()
    const after = await helloAfter(stage, 1)
    must(named(stage, attempt) === "running", `hello names ${attempt.run} as running`, after.inHand)
    must(after.session === session, `session is ${session}`, after.session)
    must(after.incarnation === before.incarnation, "incarnation is the same", after.incarnation)
    must(after.connection > before.connection, "connection is counted upwards", after.connection)
    await endedAs(stage, attempt, "succeeded")
    must(endsOf(stage, attempt).length === 1, "one result", endsOf(stage, attempt).length)
  },
}

const waits: Case = {
  id: "reliable.offline",
  expects:
    "it begins nothing while it has no connection: what waits is named as waiting, and begun after the welcome",
  why: "what begins unseen may begin elsewhere too",
  see: "rule 10",
  points: 2,
  run: async (stage) => {
    const { running, waiting } = await occupied(stage, 400)
    stage.cut()
    stage.takes = "refuse"
    await pause(900)
    stage.takes = "welcome"
    await helloAfter(stage, 1)
    for (const each of running)
      must(named(stage, each) === "ended", `hello names ${each.run} as ended`, stage.hello.inHand)
    if (waiting !== null) {
      must(named(stage, waiting) === "waiting", `hello names ${waiting.run} as waiting`, stage.hello.inHand)
      await endedAs(stage, waiting, "succeeded")
    }
  },
}

const restart: Case = {
  id: "reliable.restart",
  expects:
    "after a close with 1012 handlers go on for restartMillis, and whichever server comes next takes them over",
  why: "a deploy of the server must not stop the work of all its workers",
  see: "rule 9",
  points: 2,
  run: async (stage) => {
    const attempt = stage.assign("kit.sleep", { millis: 1_200 })
    await acked(stage, attempt, "started")
    stage.forget()
    stage.shut(1012, "restart")
    stage.takes = "refuse"
    await pause(700)
    stage.takes = "welcome"
    await helloAfter(stage, 1)
    const state = named(stage, attempt)
    must(
      state === "running" || state === "ended",
      `hello names ${attempt.run}, which runs`,
      stage.hello.inHand,
    )
    await endedAs(stage, attempt, "succeeded")
  },
}

const graceOver: Case = {
  id: "reliable.grace",
  expects:
    "a connection that is gone for graceMillis: handlers are told to stop, and what waits is forgotten",
  why: "by then the runs are another's: whatever goes on is done twice",
  see: "rule 9",
  points: 2,
  run: async (stage) => {
    const { running, waiting } = await occupied(stage, 20_000)
    stage.cut()
    stage.takes = "refuse"
    await pause(1_100)
    stage.takes = "welcome"
    await helloAfter(stage, 1, 3 * patience)
    for (const each of running)
      must(
        named(stage, each) !== "running",
        `the handler of ${each.run} was told to stop and ended`,
        stage.hello.inHand,
      )
    if (waiting !== null)
      must(
        named(stage, waiting) === undefined,
        `${waiting.run}, which waited, is forgotten`,
        stage.hello.inHand,
      )
    // The verdict is stale, so nothing of them is told.
    const told = (): unknown => running.find((each) => endsOf(stage, each).length > 0)
    await stage.never("of what is stale nothing is reported", told, 400)
    await succeededWith(stage, stage.assign("kit.echo", 1), 1)
  },
}

const stale: Case = {
  id: "reliable.stale",
  expects: "the verdict stale drops an attempt: its handler is told to stop, and its end is not reported",
  why: "the run is another worker's: its slot is needed, and its outcome is no longer wanted",
  see: "rule 6",
  points: 2,
  run: async (stage) => {
    const running = [
      stage.assign("kit.sleep", { millis: 1_500 }),
      stage.assign("kit.sleep", { millis: 20_000 }),
    ]
    for (const each of running) await acked(stage, each, "started")
    for (const each of running) stage.rows.free(each)
    stage.forget()
    stage.cut()
    await helloAfter(stage, 1)
    await stage.until("the welcome", () => stage.state?.phase === "open")
    // Both slots are free again only if both handlers were stopped.
    const next = [stage.assign("kit.sleep", { millis: 100 }), stage.assign("kit.echo", 1)]
    for (const each of next) await endedAs(stage, each, "succeeded")
    await stage.never(
      "of what is stale nothing is reported",
      () => running.find((each) => endsOf(stage, each).length > 0),
      1_200,
    )
  },
}

const deaf: Case = {
  id: "reliable.deaf",
  expects:
    "a handler that goes on although its attempt is stale still takes its slot: heartbeats say one slot less",
  why: "a server that counts on the slot sends runs that cannot begin",
  see: "heartbeat (both)",
  points: 1,
  run: async (stage) => {
    const attempt = stage.assign("kit.deaf", { millis: 1_800 })
    await acked(stage, attempt, "started")
    stage.rows.free(attempt)
    stage.forget()
    stage.cut()
    await helloAfter(stage, 1)
    const slotsOf = (): ReadonlyArray<number | undefined> =>
      heard(stage, "heartbeat").map(({ message }) => message.slots)
    await stage.until("a heartbeat with 1 slot, while it goes on", () => slotsOf().includes(1))
    await stage.until("a heartbeat with 2 slots, after it", () => slotsOf().at(-1) === 2, 2 * patience)
    must(
      endsOf(stage, attempt).length === 0,
      "of what is stale nothing is reported",
      endsOf(stage, attempt)[0],
    )
  },
}

const lease: Case = {
  id: "reliable.lease",
  expects:
    "when no heartbeat was answered for leaseMillis, its handlers are told to stop, whatever else arrives",
  why: "a server that hears nothing gives its runs to others",
  see: "rule 9",
  points: 2,
  run: async (stage) => {
    const attempt = stage.assign("kit.sleep", { millis: 20_000 })
    await acked(stage, attempt, "started")
    stage.loses = (from, { type }) => from === "worker" && type === "heartbeat"
    // Signs of life that prove nothing.
    const signs = setInterval(() => stage.say('{"type":"ack","id":"x3","acks":[]}'), 100)
    try {
      const told = (): boolean => endsOf(stage, attempt).length > 0 || named(stage, attempt) === "ended"
      await stage.until("its handler is told to stop and ends", told, 2 * patience)
    } finally {
      clearInterval(signs)
    }
  },
}

const early: Case = {
  id: "reliable.welcome",
  expects: "until the welcome it says nothing but hello",
  why: "until then it does not know what holds, nor the server who speaks",
  see: "rule 1",
  points: 1,
  run: async (stage) => {
    const attempt = stage.assign("kit.sleep", { millis: 300 })
    await acked(stage, attempt, "started")
    stage.takes = "hold"
    stage.cut()
    await helloAfter(stage, 1)
    const { connection } = stage.entries.findLast((entry) => entry.kind === "heard") ?? { connection: 0 }
    const others = (): unknown =>
      stage.entries.find(
        (entry) =>
          entry.kind === "heard" && entry.connection === connection && entry.message?.type !== "hello",
      )
    await stage.never("nothing but hello comes before the welcome", others, 900)
    stage.release()
    await endedAs(stage, attempt, "succeeded", patience)
  },
}

export const reliable: ReadonlyArray<Scene> = [
  { cases: [again], slow: true },
  { cases: [graceOver], terms: brisk, slow: true },
  { cases: [restart], terms: { ...brisk, graceMillis: 200 }, slow: true },
  { cases: [lease], terms: { ...brisk, lostMillis: 1_600, suspectMillis: 900 }, slow: true },
  { cases: [deaf], terms: { heartbeatMillis: 200 } },
  { cases: [stale] },
  { cases: [waits] },
  { cases: [resume] },
  { cases: [early] },
  { cases: [duplicate, lowerToken, lostAssign] },
  { cases: [lostResult] },
  { cases: [lostAck] },
]
