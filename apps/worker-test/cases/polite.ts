// Polite: leaving, heartbeats, and how a worker comes back.
import { type Case, must, patience, type Scene } from "../Case.ts"
import {
  acked,
  closings,
  endedAs,
  endsOf,
  exitOf,
  heard,
  helloAfter,
  linesOf,
  openings,
  pause,
  succeededWith,
} from "../look.ts"
import { drainMillis, type Stage } from "../Stage.ts"

const heartbeat: Case = {
  id: "polite.heartbeat",
  expects: "it sends a heartbeat every heartbeatMillis, also while all its slots are busy",
  why: "a worker that is not heard loses its runs; one that is heard too often is noise",
  see: "rule 8",
  points: 2,
  run: async (stage) => {
    const busy = [stage.assign("kit.deaf", { millis: 4_000 }), stage.assign("kit.sleep", { millis: 4_000 })]
    for (const each of busy) await acked(stage, each, "started")
    const from = performance.now()
    await pause(2_000)
    const beats = heard(stage, "heartbeat").filter(({ at }) => at >= from)
    const expected = (performance.now() - from) / 200
    const fits = beats.length >= expected * 0.6 && beats.length <= expected * 1.3 + 1
    must(fits, "about ten in 2 s, every 200 ms", `${beats.length} came`)
    const running = beats.at(-1)?.message.running
    must(running === undefined || running === 2, "running says 2", running)
    for (const each of busy) await endedAs(stage, each, "succeeded")
  },
}

const silence: Case = {
  id: "polite.silence",
  expects: "without a message of the server for suspectMillis it closes with 4408, and connects again",
  why: "a connection that is dead on one way looks alive on the other",
  see: "rule 8",
  points: 2,
  run: async (stage) => {
    stage.loses = () => true
    const from = performance.now()
    const { code, at } = await stage.until("it closes the connection", () => closings(stage)[0])
    must(code === 4408, "it closes with 4408", code)
    must(at - from >= 400, "not before it heard nothing for 1,000 ms", `after ${Math.round(at - from)} ms`)
    stage.loses = () => false
    await helloAfter(stage, 1)
    await succeededWith(stage, stage.assign("kit.echo", 1), 1)
  },
}

const quiet: Case = {
  id: "polite.quiet",
  expects: "it answers neither an error, nor the answer to a heartbeat, nor an acknowledgement",
  why: "two sides that answer answers never stop",
  see: "error (both)",
  points: 1,
  run: async (stage) => {
    const before = stage.entries.length
    stage.say('{"type":"error","id":"x1","code":"unknownType","message":"nothing of yours"}')
    stage.say('{"type":"heartbeat","id":"x2","at":1790000000000,"of":"none"}')
    stage.say('{"type":"ack","id":"x3","acks":[{"run":"foreign","attempt":1,"token":1,"result":"settled"}]}')
    const others = (): unknown =>
      stage.entries
        .slice(before)
        .find((entry) => entry.kind === "heard" && entry.message?.type !== "heartbeat")
    await stage.never("nothing but heartbeats comes", others, 700)
  },
}

const storm: Case = {
  id: "polite.storm",
  expects: "500 lines of a handler come in few messages, of at most 100 lines each",
  why: "more messages than messagesPerSecondMax end the connection with 4429",
  see: "log (worker)",
  points: 1,
  run: async (stage) => {
    const attempt = stage.assign("kit.log", { lines: 500 })
    await endedAs(stage, attempt, "succeeded", 2 * patience)
    must(closings(stage).length === 0, "the connection stays", closings(stage)[0])
    const logs = heard(stage, "log")
    must(logs.length <= 40, "few messages", `${logs.length} messages`)
    const dropped = logs.reduce((sum, { message }) => sum + (message.dropped ?? 0), 0)
    const lines = linesOf(stage, attempt).length
    must(
      lines + dropped === 500,
      "each line is there, or counted as dropped",
      `${lines} lines, ${dropped} dropped`,
    )
  },
}

const serverDrain: Case = {
  id: "polite.drain",
  expects:
    "a drain of the server: what waits is released, handlers end or are stopped after graceMillis and released, then bye, and it comes again",
  why: "that is how a server is stopped without losing an attempt",
  see: "drain (both)",
  points: 2,
  run: async (stage) => {
    const short = stage.assign("kit.sleep", { millis: 1_500 })
    const long = stage.assign("kit.sleep", { millis: 20_000 })
    for (const each of [short, long]) await acked(stage, each, "started")
    const waiting = (stage.hello.prefetch ?? 0) > 0 ? stage.assign("kit.echo", 1) : null
    if (waiting !== null) await acked(stage, waiting, "waiting")
    stage.step({ kind: "drain", graceMillis: 3_000, reason: "deploy" })
    // The session's own time to drain is a little longer, so that the worker's end comes first.
    if (stage.state?.drainEndAt != null) stage.state.drainEndAt += patience
    const pressed = stage.press("kit.echo", 2)
    const { reason } = await acked(stage, pressed, "refused")
    must(reason === "draining", "what comes after it is refused as draining", reason)
    if (waiting !== null) await endedAs(stage, waiting, "released")
    await endedAs(stage, short, "succeeded")
    must(endsOf(stage, long).length === 0, "the other one has its time", endsOf(stage, long)[0])
    await endedAs(stage, long, "released")
    await stage.until("bye", () => heard(stage, "bye")[0])
    await helloAfter(stage, 1)
    await succeededWith(stage, stage.assign("kit.echo", 3), 3)
  },
}

const leave: Case = {
  id: "polite.leave",
  expects:
    "after SIGTERM it says drain, hands back what waits, lets handlers end or stops and releases them, says bye, and ends with code 0",
  why: "a deploy of the worker must cost no attempt",
  see: "drain (both)",
  points: 2,
  run: async (stage) => {
    const short = stage.assign("kit.sleep", { millis: drainMillis / 2 })
    const long = stage.assign("kit.sleep", { millis: 20_000 })
    for (const each of [short, long]) await acked(stage, each, "started")
    const waiting = (stage.hello.prefetch ?? 0) > 0 ? stage.assign("kit.echo", 1) : null
    if (waiting !== null) await acked(stage, waiting, "waiting")
    stage.started?.terminate()
    const { message } = await stage.until("drain", () => heard(stage, "drain")[0])
    must(
      message.graceMillis <= drainMillis,
      `its graceMillis is ${drainMillis} (UHRWERK_DRAIN_MILLIS)`,
      message.graceMillis,
    )
    if (waiting !== null) await endedAs(stage, waiting, "released")
    await endedAs(stage, short, "succeeded")
    await endedAs(stage, long, "released")
    await stage.until("bye", () => heard(stage, "bye")[0])
    await ends(stage, 0)
  },
}

const leaveIdle: Case = {
  id: "polite.leaveIdle",
  expects: "after SIGTERM with nothing in hand it says bye at once, and ends with code 0",
  why: "whoever stops it waits for it",
  see: "bye (worker)",
  points: 1,
  run: async (stage) => {
    stage.started?.terminate()
    await stage.until("bye", () => heard(stage, "bye")[0])
    await ends(stage, 0)
  },
}

const leaveOffline: Case = {
  id: "polite.leaveOffline",
  expects: "after SIGTERM without a connection and with nothing in hand it ends",
  why: "a worker that waits for a server which is gone is killed in the end",
  see: "drain (both)",
  points: 1,
  run: async (stage) => {
    stage.takes = "refuse"
    stage.cut()
    await pause(200)
    stage.started?.terminate()
    await stage.until("the process ends", () => exitOf(stage), 2 * patience)
  },
}

const ends = async (stage: Stage, code: number): Promise<void> => {
  const exit = await stage.until("the process ends", () => exitOf(stage))
  must(exit.code === code, `with code ${code}`, exit.signal ?? `code ${exit.code}`)
}

const tries = 5
// What a try itself takes, on a machine that is busy.
const slack = 1_500

/** The waits before the next tries, when each of them fails at once. */
const waitsOf = async (stage: Stage): Promise<ReadonlyArray<number>> => {
  const before = openings(stage).length
  stage.takes = "refuse"
  stage.cut()
  const cutAt = performance.now()
  await stage.until(`${tries} more tries`, () => openings(stage).length >= before + tries, 22_000)
  const opened = openings(stage).slice(before, before + tries)
  return opened.map((at, index) => at - (opened[index - 1] ?? cutAt))
}

const backOff: Case = {
  id: "polite.backOff",
  expects:
    "it waits a random time from 0 to 500 ms before the first try, and doubles the upper bound with each further one; two workers wait for different times",
  why: "a server that restarts meets all its workers at once otherwise",
  see: "Reconnecting",
  points: 2,
  run: async (stage) => {
    const twin = await stage.twin()
    try {
      const waits = await Promise.all([waitsOf(stage), waitsOf(twin)])
      const said = waits.map((each) => `${each.map((wait) => Math.round(wait)).join(", ")} ms`).join(" and ")
      const seen = `two workers waited ${said}`
      for (const each of waits)
        each.forEach((wait, index) => {
          const most = 500 * 2 ** index
          must(wait <= most + slack, `wait ${index + 1} is at most ${most} ms`, seen)
        })
      const [one, other] = waits
      // By chance once in millions of times.
      const total = [...one, ...other].reduce((sum, wait) => sum + wait, 0)
      must(total >= 1_500, "waits from 0 to bounds that grow up to 8 s", seen)
      const alike = one.every((wait, index) => Math.abs(wait - (other[index] ?? 0)) < 60)
      must(!alike, "two workers wait for different times", seen)
    } finally {
      await twin.close()
    }
  },
}

const later = (code: number, what: string): Case => ({
  id: `polite.later${code}`,
  expects: `after a close with ${code}, ${what}, it waits for 5 s and a random time before it connects again`,
  why: "trying at once would meet the same",
  see: "Close codes",
  points: 1,
  run: async (stage) => {
    stage.shut(code, "come later")
    const from = performance.now()
    await stage.until("it connects again", () => openings(stage)[0], 5_500 + slack + patience)
    const after = Math.round((openings(stage)[0] ?? 0) - from)
    must(after >= 4_900 && after <= 5_500 + slack, "after 5,000 to 5,500 ms", `after ${after} ms`)
  },
})

const never = (code: number, what: string): Case => ({
  id: `polite.never${code}`,
  expects: `after a close with ${code}, ${what}, it never connects again: the process ends${code === 1000 ? "" : ", with a code other than 0"}`,
  why: code === 1000 ? "the server needs it no more" : "only a person can help, who has to see it",
  see: "Close codes",
  points: 1,
  run: async (stage) => {
    stage.shut(code, what)
    const exit = await stage.until("the process ends", () => exitOf(stage), 2 * patience)
    must(openings(stage).length === 0, "it does not connect again", "it did")
    if (code !== 1000) must(exit.code !== 0, "with a code other than 0", exit.signal ?? `code ${exit.code}`)
  },
})

export const polite: ReadonlyArray<Scene> = [
  { cases: [backOff], slow: true },
  { cases: [later(1013, "no room now")], slow: true },
  { cases: [later(4777, "one that it does not know")], slow: true },
  { cases: [heartbeat], terms: { heartbeatMillis: 200 }, slow: true },
  { cases: [serverDrain], slow: true },
  { cases: [silence], terms: { suspectMillis: 1_000 } },
  { cases: [leave] },
  { cases: [leaveIdle] },
  { cases: [leaveOffline] },
  { cases: [quiet] },
  { cases: [storm], terms: { messagesPerSecondMax: 20 } },
  { cases: [never(1000, "done")] },
  { cases: [never(4401, "no such token")] },
  { cases: [never(4403, "not these queues")] },
  { cases: [never(4406, "no version in common")] },
  { cases: [never(4409, "a newer process has the name")] },
]
