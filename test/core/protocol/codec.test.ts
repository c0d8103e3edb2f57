// Frames: what is taken, what is refused and how, and that the fast checks and the published schemas are one.
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { describe, expect, test } from "vitest"
import { closeCodes } from "../../../core/protocol/Close.ts"
import { decode, encode, joinAcks, read, Refused } from "../../../core/protocol/Codec.ts"
import { nestsDeeper } from "../../../core/protocol/Depth.ts"
import { Problem } from "../../../core/protocol/Field.ts"
import { depthMax, frameBytesMax } from "../../../core/protocol/Limits.ts"
import { kinds, type Message, messageTypes } from "../../../core/protocol/Message.ts"
import { endedOf, outcomeOf } from "../../../core/protocol/Outcomes.ts"
import { Choice } from "../../common/random.ts"
import { garbled, mutated, samples } from "./samples.ts"

const refusedOf = (frame: unknown, from: "server" | "worker" = "worker"): Refused => {
  const got = decode(frame, from)
  if (Result.isSuccess(got)) throw new Error(`taken: ${JSON.stringify(got.success)}`)
  return got.failure
}
const sample = <T extends Message["type"]>(
  type: T,
  from?: "server" | "worker",
): Extract<Message, { type: T }> =>
  samples.find((each) => each.message.type === type && (from ?? each.from) === each.from)?.message as never

describe("codec > messages", () => {
  test("there is a sample of every type, from each side that sends it", () => {
    for (const type of messageTypes)
      for (const from of kinds[type].from) expect(sample(type, from), `${type} of ${from}`).toBeDefined()
  })

  test.each(samples.map(({ from, message }) => [message.type, from, message] as const))(
    "%s of a %s is the same after its way",
    (_, from, message) => {
      const frame = Result.getOrThrow(encode(message))
      expect(Result.getOrThrow(decode(frame, from))).toEqual(message)
    },
  )

  test("unknown fields are ignored at every level, and not passed on", () => {
    const message = sample("result")
    const more = { ...message, extra: { deep: [1] }, outcome: { ...message.outcome, extra: 1 } }
    expect(Result.getOrThrow(decode(JSON.stringify(more), "worker"))).toEqual(message)
  })

  test("payloads pass as they are, to the last digit", () => {
    const message = Result.getOrThrow(decode(JSON.stringify(sample("assign")), "server"))
    expect(message).toHaveProperty("input", '{"user":12345678901234567890}')
  })
})

describe("codec > bad input", () => {
  const deep = (levels: number): string => "[".repeat(levels) + "]".repeat(levels)
  const hello = sample("hello")
  test.each([
    ["bad JSON", '{"type":"hello"', "badJson", 4400],
    ["nothing", "", "badJson", 4400],
    ["JSON that is no object", "[]", "noObject", 4400],
    ["null", "null", "noObject", 4400],
    ["no type", '{"id":"w1"}', "badField", 4400],
    ["a type that is no text", '{"id":"w1","type":7}', "badField", 4400],
    ["an unknown type", '{"id":"w1","type":"greet"}', "unknownType", null],
    ["a type that is a name of Object", '{"id":"w1","type":"constructor"}', "unknownType", null],
    ["a message of the other side", JSON.stringify(sample("assign")), "wrongSide", 4400],
    ["a missing field", JSON.stringify({ ...hello, jobs: undefined }), "badField", 4400],
    ["a field of the prototype", '{"type":"bye","id":"w1","__proto__":{"reason":"x"}}', "badField", 4400],
    ["10,000 levels", deep(10_000), "tooDeep", 4400],
    [
      "10,000 levels in a field that nobody knows",
      `{"type":"bye","id":"w1","reason":"","x":${deep(10_000)}}`,
      "tooDeep",
      4400,
    ],
    ["a million levels that never close", "[".repeat(1_000_000), "tooDeep", 4400],
    [
      "10,000 levels in a payload",
      JSON.stringify({ ...sample("result"), outcome: { kind: "succeeded", output: deep(10_000) } }),
      "badField",
      4400,
    ],
    [
      "a payload that is no JSON",
      JSON.stringify({ ...sample("result"), outcome: { kind: "succeeded", output: "{" } }),
      "badField",
      4400,
    ],
    ["a frame over the limit", `"${"x".repeat(frameBytesMax)}"`, "tooLarge", 1009],
    ["a frame over the limit in bytes only", `"${"é".repeat(frameBytesMax / 2)}"`, "tooLarge", 1009],
  ])("%s", (_, frame, code, close) => {
    const refused = refusedOf(frame)
    expect([refused.code, refused.close]).toEqual([code, close])
    if (close !== null) expect(closeCodes.has(close)).toBe(true)
    expect(refused.next).not.toBe("")
    // The answer is itself a message that the other side takes.
    const answer = { ...refused.answer, id: "s1" }
    expect(Result.getOrThrow(decode(JSON.stringify(answer), "server"))).toEqual(answer)
  })

  test.each([
    ["bytes", new Uint8Array([123, 125])],
    ["nothing", undefined],
    ["an object", {}],
  ])("what is no text: %s", (_, frame) => {
    expect(refusedOf(frame)).toMatchObject({ code: "binary", close: 1003 })
  })

  test.each([
    [{ attempt: "1" }, "result.attempt"],
    [{ token: 0 }, "result.token"],
    [{ run: "a b" }, "result.run"],
    [{ outcome: { kind: "lost" } }, "result.outcome.kind"],
    [{ outcome: { kind: "snoozed", delayMillis: 1 } }, "result.outcome.delayMillis"],
    [
      {
        outcome: {
          kind: "expanded",
          retryable: true,
          expansion: { kind: "map", step: {}, items: [], failFast: true },
        },
      },
      "result.outcome.expansion.step.job",
    ],
  ])("a wrong field is named: %j", (change, field) => {
    const refused = refusedOf(JSON.stringify({ ...sample("result"), ...change }))
    expect(refused.field).toBe(field)
    expect(refused.of).toBe("w6")
    expect(refused.answer).toMatchObject({ type: "error", code: "badField", of: "w6", field })
  })

  test("a place in a list is named", () => {
    const acks = [{ ...sample("ack").acks[0], run: 1 }]
    expect(refusedOf(JSON.stringify({ ...sample("ack"), acks })).field).toBe("ack.acks[0].run")
  })

  test("a frame of exactly the limit is taken", () => {
    const frame = JSON.stringify({ type: "bye", id: "w1", reason: "", x: "" })
    const full = frame.replace('"x":""', `"x":"${"x".repeat(frameBytesMax - frame.length)}"`)
    expect(full.length).toBe(frameBytesMax)
    expect(Result.isSuccess(decode(full, "worker"))).toBe(true)
    expect(refusedOf(`${full} `).code).toBe("tooLarge")
  })

  test("a message that does not fit is not written", () => {
    expect(encode({ ...sample("bye"), reason: "x".repeat(2_049) })).toMatchObject({
      failure: { field: "bye.reason" },
    })
    const large: Message = { ...sample("bye"), reason: "é".repeat(600) }
    expect(Result.isSuccess(encode(large, 1_300))).toBe(true)
    expect(Result.isFailure(encode(large, 1_200))).toBe(true)
  })
})

describe("codec > depth", () => {
  test.each([
    ["[]", 1],
    ['{"a":{"b":[1]}}', 3],
    ['"[[[["', 0],
    ['["\\"[[[", [1]]', 2],
    ['["\\\\", ["\\\\\\"["]]', 2],
    ["[[],[],[]]", 2],
  ])("%s is %i deep", (json, depth) => {
    expect(nestsDeeper(json, depth)).toBe(false)
    if (depth > 0) expect(nestsDeeper(json, depth - 1)).toBe(true)
  })

  test("agrees with the parsed value", () => {
    const depthOf = (value: unknown): number =>
      typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
    const choice = new Choice(5)
    for (let round = 0; round < 2_000; round++) {
      const value = mutated(choice, choice.of(samples).message)
      const json = JSON.stringify(value)
      const depth = depthOf(value)
      expect(nestsDeeper(json, depth)).toBe(false)
      if (depth > 0) expect(nestsDeeper(json, depth - 1)).toBe(true)
    }
  })

  test("no message comes near the limit", () => {
    for (const { message } of samples) expect(nestsDeeper(JSON.stringify(message), depthMax - 20)).toBe(false)
  })
})

const schemas = new Map(
  messageTypes.map((type) => [
    type,
    Schema.decodeUnknownResult(kinds[type].field.schema as Schema.Codec<unknown>),
  ]),
)

describe("codec > the fast checks and the schemas are one", () => {
  test.each(samples.map(({ message }, place) => [message.type, place, message] as const))(
    "%s, sample %i",
    (type, place, message) => {
      const choice = new Choice(place + 1)
      const field = kinds[type].field
      let taken = 0
      for (let round = 0; round < 1_500; round++) {
        const value = round === 0 ? message : mutated(choice, message)
        const fast = field.read(value)
        const slow = schemas.get(type)?.(value) as Result.Result<unknown, unknown>
        if (Result.isSuccess(slow)) {
          taken++
          expect(fast, JSON.stringify(value)).toEqual(slow.success)
        } else expect(fast, JSON.stringify(value)).toBeInstanceOf(Problem)
      }
      expect(taken).toBeGreaterThan(10)
    },
  )
})

describe("codec > labels", () => {
  test.each([
    ['{"region":"eu","gpu":2,"spot":false}', true],
    ['{"constructor":1,"toString":"x"}', true],
    ['{"__proto__":1}', false],
    ['{"a b":1}', false],
    ['{"9":1}', false],
    ['{"a":null}', false],
    ['{"a":{}}', false],
    [`{"a":"${"x".repeat(129)}"}`, false],
    [`{${Array.from({ length: 65 }, (_, at) => `"l${at}":1`).join(",")}}`, false],
  ])("%s", (json, fits) => {
    const hello = { ...sample("hello"), labels: JSON.parse(json) as unknown }
    const fast = kinds.hello.field.read(hello)
    const slow = schemas.get("hello")?.(hello) as Result.Result<unknown, unknown>
    expect(Result.isSuccess(slow)).toBe(fits)
    if (Result.isSuccess(slow)) expect(fast).toEqual(slow.success)
    else expect(fast).toBeInstanceOf(Problem)
  })
})

describe("codec > fuzz", () => {
  const check = (frame: string, from: "server" | "worker"): void => {
    const got = decode(frame, from)
    if (Result.isFailure(got)) {
      expect(got.failure).toBeInstanceOf(Refused)
      expect(
        Result.isSuccess(read(JSON.parse(JSON.stringify({ ...got.failure.answer, id: "s1" })), "server")),
      ).toBe(true)
      return
    }
    // Whatever is taken is what the schema takes, of the side that may send it.
    const { type } = got.success
    expect(kinds[type].from).toContain(from)
    const slow = schemas.get(type)?.(JSON.parse(frame)) as Result.Result<unknown, unknown>
    expect(Result.getOrThrow(slow)).toEqual(got.success)
  }

  test("garbled frames are refused or mean what the schema says, and nothing is thrown", () => {
    const choice = new Choice(77)
    for (let round = 0; round < 20_000; round++) {
      const { from, message } = choice.of(samples)
      let frame = JSON.stringify(message)
      for (let times = choice.int(1, 3); times > 0; times--) frame = garbled(choice, frame)
      check(frame, choice.percent(80) ? from : choice.of(["server", "worker"] as const))
    }
  })

  test("changed values", () => {
    const choice = new Choice(78)
    for (let round = 0; round < 10_000; round++) {
      const { from, message } = choice.of(samples)
      check(JSON.stringify(mutated(choice, message)), from)
    }
  })
})

describe("codec > acknowledgements of one turn are one frame", () => {
  const ack = (id: string, token: number): Message => ({
    type: "ack",
    id,
    acks: [{ run: "r", attempt: 1, token, result: "started" }],
  })
  test("in the place of the first, in their order", () => {
    const bye: Message = { type: "bye", id: "w9", reason: "" }
    const joined = joinAcks([bye, ack("w1", 1), bye, ack("w2", 2)])
    expect(joined).toEqual([
      bye,
      { ...ack("w1", 1), acks: [1, 2].map((token) => ({ run: "r", attempt: 1, token, result: "started" })) },
      bye,
    ])
  })
  test("more than one frame may hold are several, with ids of their own", () => {
    const many = Array.from({ length: 4_500 }, (_, at) => ack(`w${at}`, at + 1))
    const joined = joinAcks(many)
    expect(joined.map((message) => (message.type === "ack" ? message.acks.length : 0))).toEqual([
      2_000, 2_000, 500,
    ])
    expect(new Set(joined.map(({ id }) => id)).size).toBe(3)
    for (const message of joined) expect(Result.isSuccess(read(message, "worker"))).toBe(true)
  })
})

describe("codec > outcomes", () => {
  const key = { run: "r1", attempt: 2, token: 3 }
  test.each([
    [{ kind: "succeeded", output: "1" }],
    [{ kind: "released" }],
    [{ kind: "snoozed", delayMillis: 100 }],
    [{ kind: "declined", reason: "x" }],
    [
      {
        kind: "failed",
        error: { name: "E", message: "m", kind: "error" },
        retryable: false,
        retryAfterMillis: null,
      },
    ],
  ] as const)("%j is the same after its way", (outcome) => {
    const message = { ...endedOf(key, outcome, frameBytesMax), id: "w1" } as Message
    const got = Result.getOrThrow(decode(Result.getOrThrow(encode(message)), "worker"))
    expect(outcomeOf(got as never)).toEqual(outcome)
  })

  test("texts are cut to what is allowed", () => {
    const long = "🌍".repeat(5_000)
    const error = { name: long, message: long, stack: long, kind: "error" } as const
    for (const outcome of [
      { kind: "failed", error, retryable: true, retryAfterMillis: null },
      { kind: "declined", reason: long },
    ] as const) {
      const ended = endedOf(key, outcome, frameBytesMax)
      expect(outcomeOf({ ...ended, id: "w1" })).toMatchObject({ kind: outcome.kind })
      expect(Result.isSuccess(encode({ ...ended, id: "w1" }))).toBe(true)
    }
  })

  test.each([
    ["no JSON", { kind: "succeeded", output: "{" }],
    ["too large", { kind: "succeeded", output: JSON.stringify("x".repeat(262_144)) }],
    ["too deep", { kind: "succeeded", output: "[".repeat(2_000) + "]".repeat(2_000) }],
  ] as const)("an output that is %s becomes a failure for good", (_, outcome) => {
    expect(endedOf(key, outcome, frameBytesMax)).toMatchObject({
      type: "failure",
      retryable: false,
      error: { kind: "payload" },
    })
  })

  test("one that fits no frame becomes a failure for good, and is not sent in vain for ever", () => {
    const items = Array.from({ length: 1_000 }, () => JSON.stringify("x".repeat(1_200)))
    const outcome = {
      kind: "expanded",
      retryable: true,
      expansion: {
        kind: "map",
        items,
        failFast: false,
        step: { job: "j", queue: "q", priority: 0, attemptMax: 1 },
      },
    } as const
    const ended = endedOf(key, outcome, frameBytesMax)
    expect(ended).toMatchObject({ type: "failure", retryable: false, error: { kind: "payload" } })
  })
})
