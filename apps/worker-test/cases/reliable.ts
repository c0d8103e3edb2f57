// Reliable: what is lost on the way comes again, and nothing is begun or counted twice.
import { brisk, type Case, must, type Scene, Unmet } from "../Case.ts"
import {
  acked,
  acksOf,
  endedAs,
  endsOf,
  helloAfter,
  linesOf,
  named,
  outcomeOf,
  pause,
  succeededWith,
} from "../look.ts"
import { resume, waits, restart, graceOver, stale, deaf, lease, early } from "./resume.ts"

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
    const second = await stage.until("the result again", () => endsOf(stage, attempt)[1], 12_000)
    const after = Math.round(second.at - first.at)
    must(after >= 4_500 && after <= 9_000, "5 s after the first time", `${after} ms after it`)
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

const newerToken: Case = {
  id: "reliable.newerToken",
  expects:
    "a newer token of a run that is in hand ends the older attempt, and is begun when the older handler has ended",
  why: "two handlers of one run at once do its effects twice",
  see: "rule 3",
  points: 1,
  run: async (stage) => {
    const older = stage.assign("kit.deaf", { millis: 2_000 })
    await acked(stage, older, "started")
    // A handler that was not called yet need not be called at all.
    await pause(300)
    const from = performance.now()
    const newer = stage.assign(
      "kit.log",
      { lines: 1 },
      { run: older.run, attempt: 3, token: older.token + 2 },
    )
    // One between them was on its way for long: it must not be begun after the newer one.
    const between = { run: older.run, attempt: 2, token: older.token + 1 }
    stage.say(
      JSON.stringify({ type: "assign", id: "x8", ...stage.rows.assignOf(between, "kit.log", { lines: 1 }) }),
    )
    const { reason } = await acked(stage, between, "refused")
    must(reason === "over", "a token between them is refused, over", reason)
    await endedAs(stage, newer, "succeeded")
    const begun = acksOf(stage, newer).find(({ result }) => result === "started")
    const after = Math.round((begun?.at ?? from) - from)
    must(
      after >= 1_200,
      "it begins when the older handler, which takes 2,000 ms, has ended",
      `after ${after} ms`,
    )
    must(
      endsOf(stage, older).length === 0,
      "of the older attempt nothing is reported",
      endsOf(stage, older)[0],
    )
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

export const reliable: ReadonlyArray<Scene> = [
  { cases: [again], slow: true },
  { cases: [graceOver], terms: brisk, slow: true },
  { cases: [restart], terms: { graceMillis: 200, restartMillis: 6_000 }, slow: true },
  { cases: [lease], terms: { ...brisk, lostMillis: 1_600, suspectMillis: 900 }, slow: true },
  { cases: [deaf], terms: { heartbeatMillis: 200 } },
  { cases: [stale] },
  { cases: [waits], terms: { graceMillis: 20_000, lostMillis: 40_000 }, slow: true },
  { cases: [resume] },
  { cases: [early] },
  { cases: [duplicate, lowerToken, newerToken, lostAssign] },
  { cases: [lostResult] },
  { cases: [lostAck] },
]
