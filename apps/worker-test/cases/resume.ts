// Reliable, part two: what becomes of attempts when the connection is cut, for a moment, for long, or for good.
import { type Case, must, patience } from "../Case.ts"
import { acked, endedAs, endsOf, heard, helloAfter, named, pause, succeededWith } from "../look.ts"
import { occupied } from "./core.ts"

export const resume: Case = {
  id: "reliable.resume",
  expects: "after a cut it names what runs, resumes its session, and the handler goes on",
  why: "a short cut must not cost the work that was done",
  see: "rule 5",
  points: 2,
  run: async (stage) => {
    const attempt = stage.assign("kit.sleep", { millis: 4_000 })
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

export const waits: Case = {
  id: "reliable.offline",
  expects:
    "it begins nothing while it has no connection: what waits is named as waiting, and begun after the welcome",
  why: "what begins unseen may begin elsewhere too",
  see: "rule 10",
  points: 2,
  run: async (stage) => {
    const { running, waiting } = await occupied(stage, 2_000)
    stage.cut()
    stage.takes = "refuse"
    await pause(2_400)
    stage.takes = "welcome"
    await helloAfter(stage, 1, 5 * patience)
    for (const each of running)
      must(named(stage, each) === "ended", `hello names ${each.run} as ended`, stage.hello.inHand)
    if (waiting !== null) {
      must(named(stage, waiting) === "waiting", `hello names ${waiting.run} as waiting`, stage.hello.inHand)
      await endedAs(stage, waiting, "succeeded")
    }
  },
}

export const restart: Case = {
  id: "reliable.restart",
  expects:
    "after a close with 1012 handlers go on for restartMillis, and whichever server comes next takes them over",
  why: "a deploy of the server must not stop the work of all its workers",
  see: "rule 9",
  points: 2,
  run: async (stage) => {
    const attempt = stage.assign("kit.sleep", { millis: 1_500 })
    await acked(stage, attempt, "started")
    stage.forget()
    stage.shut(1012, "restart")
    stage.takes = "refuse"
    // Longer than its graceMillis.
    await pause(500)
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

export const graceOver: Case = {
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
    await pause(1_500)
    stage.takes = "welcome"
    await helloAfter(stage, 1, 5 * patience)
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

export const stale: Case = {
  id: "reliable.stale",
  expects: "the verdict stale drops an attempt: its handler is told to stop, and its end is not reported",
  why: "the run is another worker's: its slot is needed, and its outcome is no longer wanted",
  see: "rule 6",
  points: 2,
  run: async (stage) => {
    const running = [
      stage.assign("kit.sleep", { millis: 20_000 }),
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
      400,
    )
  },
}

export const deaf: Case = {
  id: "reliable.deaf",
  expects:
    "a handler that goes on although its attempt is stale still takes its slot: heartbeats say one slot less",
  why: "a server that counts on the slot sends runs that cannot begin",
  see: "heartbeat (both)",
  points: 1,
  run: async (stage) => {
    const attempt = stage.assign("kit.deaf", { millis: 4_000 })
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

export const lease: Case = {
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

export const early: Case = {
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
