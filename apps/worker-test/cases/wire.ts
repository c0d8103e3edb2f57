// Wire: what a worker makes of frames that are odd, and of those that are wrong.
import { type Case, must, patience, type Scene } from "../Case.ts"
import { acked, closings, failedAs, heard, outcomeOf, succeededWith } from "../look.ts"
import { type Attempt } from "../Rows.ts"
import type { Stage } from "../Stage.ts"

const json = (value: object): string => JSON.stringify(value)

const sayAssign = (stage: Stage, attempt: Attempt, job: string, input: unknown, more: object = {}): void =>
  stage.say(json({ type: "assign", id: "x1", ...stage.rows.assignOf(attempt, job, input), ...more }))

const unknownType: Case = {
  id: "wire.unknownType",
  expects:
    "a message of an unknown type is answered with the error unknownType and its id, and nothing else happens",
  why: "that is how a newer server finds out what a worker does not know",
  see: "error (both)",
  points: 1,
  run: async (stage) => {
    stage.say(json({ type: "applaud", id: "x7", loudly: true }))
    const { message } = await stage.until("an error", () => heard(stage, "error")[0])
    must(message.code === "unknownType" && message.of === "x7", "code is unknownType, and of x7", message)
    await succeededWith(stage, stage.assign("kit.echo", 1), 1)
    must(closings(stage).length === 0, "the connection stays", closings(stage)[0])
  },
}

const unknownFields: Case = {
  id: "wire.unknownFields",
  expects: "unknown fields are ignored, at every level",
  why: "both sides may be newer than the other",
  see: "Connection",
  points: 1,
  run: async (stage) => {
    stage.edits = (frame, { type }) =>
      type === "assign"
        ? json({
            ...JSON.parse(frame),
            colour: { depth: [1, { of: "it" }] },
            needs: [{ job: "a", output: '{"rows":1}', weight: 2 }],
          })
        : type === "ack" || type === "heartbeat"
          ? json({ ...JSON.parse(frame), constructor: null, colour: "red" })
          : frame
    try {
      await succeededWith(stage, stage.assign("kit.echo", { a: 1 }), { a: 1 })
    } finally {
      stage.edits = (frame) => frame
    }
    await succeededWith(stage, stage.assign("kit.echo", 2), 2)
  },
}

const unicode: Case = {
  id: "wire.unicode",
  expects: "characters beyond the basic plane arrive and come back as they were",
  why: "names and texts of people have them, and frames are cut in the middle of them",
  see: "Connection",
  points: 1,
  run: async (stage) => {
    const input = {
      "🕰️": "𝄞 Ünïcödé 漢字 ‮rtl",
      escapes: '\u0000\u001f"\\\u2028/',
      long: "🕰️é漢".repeat(3_000),
    }
    await succeededWith(stage, stage.assign("kit.echo", input), input)
  },
}

const numbers: Case = {
  id: "wire.numbers",
  expects: "the largest numbers come back to the last digit, in inputs and as a token",
  why: "a token that was rounded is another one",
  see: "Connection",
  points: 1,
  run: async (stage) => {
    const input = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0.1, 1e21, -0.5]
    await succeededWith(stage, stage.assign("kit.echo", input, { token: Number.MAX_SAFE_INTEGER }), input)
  },
}

const large: Case = {
  id: "wire.large",
  expects: "a frame of 1 MiB is read",
  why: "inputs and outputs of needed runs come in one frame",
  see: "Limits",
  points: 1,
  run: async (stage) => {
    const output = JSON.stringify("x".repeat(262_000))
    const needs = ["a", "b", "c"].map((job) => ({ job, output }))
    const input = { text: "y".repeat(200_000) }
    stage.edits = (frame, { type }) =>
      type === "assign"
        ? `${frame.slice(0, -1)},"padding":"${"p".repeat(1_048_576 - frame.length - 13)}"}`
        : frame
    try {
      const attempt = stage.assign("kit.echo", input, { needs })
      const sent = stage.entries.findLast((entry) => entry.kind === "said")
      const size = sent?.kind === "said" ? sent.frame.length : 0
      if (size !== 1_048_576) throw new Error(`The kit made a frame of ${size} bytes`)
      await succeededWith(stage, attempt, input, 2 * patience)
    } finally {
      stage.edits = (frame) => frame
    }
  },
}

const payload: Case = {
  id: "wire.payload",
  expects:
    "an output of more than payloadBytesMax is a failure of the kind payload, for good, and it goes on",
  why: "the server could not store it, and each further attempt would end the same way",
  see: "Limits",
  points: 1,
  run: async (stage) => {
    const attempt = stage.assign("kit.repeat", { text: "é", times: 140_000 })
    const { retryable } = await failedAs(stage, attempt, "payload", 2 * patience)
    must(!retryable, "retryable is false", retryable)
    await succeededWith(stage, stage.assign("kit.repeat", { text: "ab", times: 3 }), "ababab")
    must(closings(stage).length === 0, "the connection stays", closings(stage)[0])
  },
}

const frameMax: Case = {
  id: "wire.frameMax",
  expects:
    "it sends no frame over the frameBytesMax of its welcome: an output that does not fit is a failure of the kind payload",
  why: "such a frame ends the connection, and again after each reconnect",
  see: "welcome (server)",
  points: 2,
  run: async (stage) => {
    // Each of these takes two bytes in the output, and four in its frame.
    const attempt = stage.assign("kit.repeat", { text: '"', times: 14_000 })
    await failedAs(stage, attempt, "payload")
    const longest = Math.max(
      ...stage.entries.map((entry) => (entry.kind === "heard" ? Buffer.byteLength(entry.frame) : 0)),
    )
    must(
      longest <= stage.terms.frameBytesMax,
      `frames of at most ${stage.terms.frameBytesMax} bytes`,
      longest,
    )
  },
}

const capability: Case = {
  id: "wire.capability",
  expects:
    "a welcome that names unknown capabilities and fields, and lacks restartMillis, is one like any other",
  why: "servers are updated before their workers",
  see: "Versions and capabilities",
  points: 1,
  run: async (stage) => {
    stage.edits = (frame, { type }) => {
      if (type !== "welcome") return frame
      const { restartMillis: _, ...welcome } = JSON.parse(frame) as Record<string, unknown>
      return json({ ...welcome, capabilities: ["teleport", "resume"], weather: { sun: true } })
    }
    const count = stage.hellos.length
    stage.cut()
    await stage.until("it connects again", () => stage.hellos.length > count, 2 * patience)
    await stage.until("the welcome", () => stage.state?.phase === "open")
    await succeededWith(stage, stage.assign("kit.echo", 1), 1)
    must(closings(stage).length === 1, "the connection stays", closings(stage)[1])
  },
}

const pieces: Case = {
  id: "wire.pieces",
  expects: "fragments of a few bytes, with pings between them, are put together and the pings answered",
  why: "WebSocket allows it, and proxies do it",
  see: "Connection",
  points: 1,
  run: async (stage) => {
    const input = { text: "漢字🕰️".repeat(200) }
    await succeededWith(stage, stage.assign("kit.echo", input), input)
    const large = { text: "é".repeat(60_000) }
    await succeededWith(stage, stage.assign("kit.echo", large), large, 2 * patience)
    const pongs = stage.relay?.pongs() ?? 0
    must(pongs > 0, "a pong for a ping", `${pongs} pongs`)
  },
}

const wrong = (
  name: string,
  code: string,
  what: string,
  frame: (stage: Stage) => string,
  after: (stage: Stage) => Promise<void> = async () => undefined,
): Case => ({
  id: `wire.${name}`,
  expects: `${what} is answered with the error ${code} and a close with 4400`,
  why: "whoever talks past a worker has to hear of it, and nothing of the message is used",
  see: "error (both)",
  points: 1,
  run: async (stage) => {
    stage.say(frame(stage))
    const { message } = await stage.until("an error", () => heard(stage, "error")[0])
    must(message.code === code, `code is ${code}`, message)
    const closed = await stage.until("it closes the connection", () => closings(stage)[0])
    must(closed.code === 4400, "it closes with 4400", closed.code)
    await after(stage)
  },
})

const badJson = wrong(
  "badJson",
  "badJson",
  "a text that is no JSON",
  () => '{"type":"assign","id":"x1"',
  async (stage) => {
    // 4400 is a code of the kind `later`.
    await stage.until("it connects again after 5 s and goes on", () => stage.hellos[1], 6_500 + patience)
    await succeededWith(stage, stage.assign("kit.echo", 1), 1)
  },
)

const wrongSide = wrong("wrongSide", "wrongSide", "a message that only workers send", () =>
  json({ type: "progress", id: "x1", run: "run-1", attempt: 1, token: 1, percent: 1 }),
)

const badField = wrong("badField", "badField", "an assign with a token that is no number", (stage) =>
  json({ type: "assign", id: "x1", ...stage.rows.assignOf(stage.rows.make({}), "kit.echo", 1), token: "1" }),
)

const badType = wrong("badType", "badField", "a message whose type is a list", () =>
  json({ type: ["assign"], id: "x1" }),
)

const noObject = wrong("noObject", "noObject", "JSON that is no object", () => "[1,2,3]")

const odd: Case = {
  id: "wire.odd",
  expects:
    "an empty list of acks, a job name of 128 characters and a dueAt in the year 9999 are messages like others",
  why: "what the schema allows does come, sooner or later",
  see: "Limits",
  points: 1,
  run: async (stage) => {
    stage.say(json({ type: "ack", id: "x1", acks: [] }))
    const attempt = stage.rows.make({})
    sayAssign(stage, attempt, "🕰".repeat(128), {}, { dueAt: 253_402_300_799_000, lateMillis: 0 })
    const { reason } = await acked(stage, attempt, "refused")
    must(reason === "noHandler", "the reason is noHandler", reason)
    await outcomeOf(stage, stage.assign("kit.echo", 1, { timeoutMillis: 2_147_483_648 }))
  },
}

export const wire: ReadonlyArray<Scene> = [
  { cases: [badJson], slow: true },
  { cases: [wrongSide] },
  { cases: [badField] },
  { cases: [noObject] },
  { cases: [badType] },
  { cases: [unknownType, unknownFields, unicode, numbers, odd, large, payload] },
  { cases: [frameMax], terms: { frameBytesMax: 32_768, payloadBytesMax: 30_000 } },
  { cases: [capability] },
  { cases: [pieces], pieces: true },
]
