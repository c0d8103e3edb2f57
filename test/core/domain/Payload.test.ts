// Inputs and outputs as JSON text, and errors as a row may hold them: whatever user code hands over or throws, nothing
// is lost unseen and nothing escapes.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { InvalidPayload } from "../../../core/domain/Errors.ts"
import {
  decodePayload,
  encodePayload,
  errorInfo,
  payloadBytesMax,
  utf8Length,
} from "../../../core/domain/Payload.ts"

const encode = (value: unknown): string | null => Result.getOrThrow(encodePayload("input", value))
const refused = (value: unknown): InvalidPayload => {
  const result = encodePayload('input of job "mail"', value)
  if (Result.isSuccess(result)) throw new Error(`It was accepted: ${String(result.success).slice(0, 100)}`)
  expect(result.failure).toBeInstanceOf(InvalidPayload)
  expect(result.failure.field).toBe('input of job "mail"')
  expect(result.failure.next).toMatch(/^[A-Z].*\.$/)
  expect(result.failure.reason).not.toContain("\n")
  return result.failure
}

const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const nested = (depth: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = { a: value }
  return value
}
const circle = (): unknown => {
  const value: Record<string, unknown> = { a: 1 }
  value["self"] = { back: [value] }
  return value
}

/** A proxy each use of which throws. */
const hostile = (thrown: unknown): object => {
  const fail = (): never => {
    throw thrown
  }
  return new Proxy(
    {},
    { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail, getOwnPropertyDescriptor: fail },
  )
}

describe("Payload > what JSON expresses", () => {
  test("undefined is no payload, and comes back as undefined", () => {
    expect(encode(undefined)).toBeNull()
    expect(decodePayload(null)).toBeUndefined()
  })

  test("plain data comes back as it was", () => {
    const values = [null, true, 0, -1.5, 1e300, "", "ä\u2028\ud83d\ude00\ud800", [], {}, [[1, [2]]], { a: { b: "c" } }]
    for (const value of values) {
      const text = encode(value) as string
      expect(typeof text).toBe("string")
      expect(decodePayload(text)).toEqual(value)
    }
  })

  test("a toJSON speaks for its value", () => {
    expect(encode(new Date(0))).toBe('"1970-01-01T00:00:00.000Z"')
    expect(encode({ a: { toJSON: () => [1] } })).toBe('{"a":[1]}')
  })

  test("a toJSON that gives nothing is no payload", () =>
    expect(encode({ toJSON: () => undefined })).toBeNull())

  test("an error of the store's making is not ours: text that we wrote parses", () =>
    expect(decodePayload('{"a":[1,"b"]}')).toEqual({ a: [1, "b"] }))
})

describe("Payload > what JSON cannot express is refused, at any depth", () => {
  const lost: ReadonlyArray<readonly [unknown, string]> = [
    [() => 1, "a function"],
    [Symbol("s"), "a symbol"],
    [Number.NaN, "NaN"],
    [Infinity, "Infinity"],
    [-Infinity, "-Infinity"],
  ]
  for (const [value, name] of lost) {
    test(`${name} itself`, () => expect(refused(value).reason).toContain(`the value is ${name}`))
    test(`${name} in an object, a list, below both, and from a toJSON`, () => {
      expect(refused({ ok: 1, wrong: value }).reason).toContain(`"wrong" is ${name}`)
      expect(refused([1, value]).reason).toContain(`"1" is ${name}`)
      expect(refused({ a: [{ b: { c: [value] } }] }).reason).toContain(name)
      expect(refused({ a: { toJSON: () => value } }).reason).toContain(`"a" is ${name}`)
    })
  }

  test("of several the first is named", () =>
    expect(refused({ a: 1, b: Number.NaN, c: () => 1 }).reason).toContain('"b" is NaN'))

  test("bigints and circles", () => {
    for (const value of [5n, { a: 5n }, [[5n]], circle()])
      expect(refused(value).reason).toMatch(/^it cannot be written as JSON \(.+\)$/)
  })

  test("a nesting that is too deep is refused, or written: never a crash", () => {
    for (const depth of [100, 10_000, 200_000]) {
      const result = encodePayload("input", nested(depth))
      if (Result.isSuccess(result)) expect(result.success).toHaveLength(depth * 6 + 1)
      else expect(result.failure).toBeInstanceOf(InvalidPayload)
    }
  })

  test("a toJSON or a getter that throws, whatever it throws", () => {
    const odd = new Error("x")
    Object.defineProperty(odd, "message", { value: { no: "text" } })
    const things = [
      new Error("Not today\nand not tomorrow"),
      "text",
      undefined,
      null,
      5,
      Symbol("s"),
      Object.create(null),
      {
        toString: () => {
          throw new Error("x")
        },
      },
      odd,
      hostile(new Error("x")),
    ]
    for (const thrown of things) {
      const fail = (): never => {
        throw thrown
      }
      refused({ toJSON: fail })
      refused({ a: { toJSON: fail } })
      refused(
        Object.defineProperty({}, "a", {
          enumerable: true,
          get: fail,
        }),
      )
      refused(hostile(thrown))
    }
    expect(refused({ toJSON: () => { throw things[0] } }).reason).toContain("(Not today)")
  })
})

describe("Payload > 256 KiB", () => {
  // Quotes around the text take two bytes.
  const room = payloadBytesMax - 2
  const cases: ReadonlyArray<readonly [name: string, character: string, bytes: number]> = [
    ["one byte", "a", 1],
    ["two bytes", "ä", 2],
    ["three bytes", "€", 3],
    ["four bytes", "\ud83d\ude00", 4],
    ["an escape", '"', 2],
    ["an escaped lone surrogate", "\ud800", 6],
  ]
  for (const [name, character, bytes] of cases) {
    test(`exactly the limit is taken, one byte more is not: characters of ${name}`, () => {
      const count = Math.floor(room / bytes)
      const full = character.repeat(count) + "a".repeat(room - count * bytes)
      const text = encode(full) as string
      expect(new TextEncoder().encode(text)).toHaveLength(payloadBytesMax)
      const { reason } = refused(`${full}a`)
      expect(reason).toBe(`${payloadBytesMax + 1} bytes are more than the ${payloadBytesMax} allowed`)
    })
  }

  test("it is bytes that count, not characters", () => {
    refused("€".repeat(100_000))
    expect(encode("a".repeat(100_000))).toHaveLength(100_002)
  })
})

describe("Payload > utf8Length", () => {
  const encoder = new TextEncoder()

  test("each kind of character, and surrogates in every order", () => {
    const parts = ["", "a", "\u007f", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff"]
    const surrogates = ["\ud800", "\udbff", "\udc00", "\udfff"]
    const all = [...parts, ...surrogates]
    for (const a of all)
      for (const b of all)
        for (const c of all)
          expect(utf8Length(a + b + c), JSON.stringify(a + b + c)).toBe(encoder.encode(a + b + c).length)
  })

  test("random texts, half of them of surrogates, have the length that TextEncoder gives them", () => {
    const random = seeded(11)
    for (let round = 0; round < 20_000; round++) {
      const length = Math.floor(random() * 40)
      const units = Array.from({ length }, () =>
        random() < 0.5 ? 0xd800 + Math.floor(random() * 0x800) : Math.floor(2 ** (random() * 16)),
      )
      const text = String.fromCharCode(...units)
      if (utf8Length(text) !== encoder.encode(text).length) throw new Error(`Round ${round}: ${JSON.stringify(text)}`)
    }
  })
})

describe("Payload > errorInfo", () => {
  const messageMax = 2048
  const stackMax = 4096

  test("an Error keeps its name, message and stack", () => {
    const error = new TypeError("It broke")
    expect(errorInfo(error)).toEqual({
      name: "TypeError",
      message: "It broke",
      stack: error.stack,
      kind: "error",
    })
    expect(errorInfo(error, "timeout").kind).toBe("timeout")
  })

  test("a class is known by its own name, or by its _tag", () => {
    class RateLimited extends Error {
      override readonly name = "RateLimited"
    }
    class Tagged extends Error {
      readonly _tag = "Refused"
    }
    class OddTag extends Error {
      readonly _tag = 5
    }
    expect(errorInfo(new RateLimited("x")).name).toBe("RateLimited")
    expect(errorInfo(new Tagged("x")).name).toBe("Refused")
    expect(errorInfo(new OddTag("x")).name).toBe("Error")
  })

  test("what is no Error is told as it is", () => {
    const told = (thrown: unknown): string => {
      const { name, message, stack, kind } = errorInfo(thrown)
      expect([name, stack, kind]).toEqual(["NonError", undefined, "error"])
      return message.replace("A value that is not an Error was thrown: ", "")
    }
    expect([undefined, null, "boom", "", 5, Number.NaN, true, 5n, Symbol("s")].map(told)).toEqual([
      "undefined",
      "null",
      "boom",
      "",
      "5",
      "NaN",
      "true",
      "5",
      "Symbol(s)",
    ])
    expect(told({ code: 5 })).toBe('{"code":5}')
    expect(told([1])).toBe("[1]")
    expect(told(Object.create(null))).toBe("{}")
    expect(told(circle())).toBe("[object Object]")
    expect(told({ a: 5n })).toBe("[object Object]")
    expect(told({ toJSON: () => undefined })).toBe("[object Object]")
    expect(told(() => 1)).toContain("=>")
    expect(told(new Map([[1, 2]]))).toBe("{}")
  })

  test("what cannot be read is recorded all the same", () => {
    const unreadable = [
      hostile(new Error("x")),
      hostile(undefined),
      Object.defineProperty(new Error("x"), "message", {
        get: () => {
          throw new Error("y")
        },
      }),
      Object.defineProperty(new Error("x"), "name", { value: Object.create(null) }),
      Object.defineProperty(new Error("x"), "message", { value: { toString: 5, valueOf: 5 } }),
    ]
    for (const thrown of unreadable) {
      const info = errorInfo(thrown, "payload")
      expect(info).toEqual({
        name: "NonError",
        message: "A value that cannot be read was thrown",
        kind: "payload",
      })
    }
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(errorInfo(proxy).name).toBe("NonError")
  })

  test("a message and a name that are no text become text", () => {
    const odd = (fields: Record<string, unknown>): Error => Object.assign(new Error("x"), fields)
    expect(errorInfo(odd({ message: 5 })).message).toBe("5")
    expect(errorInfo(odd({ message: undefined })).message).toBe("undefined")
    expect(errorInfo(odd({ message: { a: 1 } })).message).toBe("[object Object]")
    expect(errorInfo(odd({ name: Symbol("s") })).name).toBe("Symbol(s)")
    expect(errorInfo(odd({ stack: 5 }))).not.toHaveProperty("stack")
    expect(errorInfo(odd({ stack: undefined }))).not.toHaveProperty("stack")
  })

  test("message, stack and name are cut to what a row holds", () => {
    const error = new Error("m".repeat(1e6))
    error.stack = "s".repeat(1e6)
    error.name = "n".repeat(1e6)
    const { message, stack, name } = errorInfo(error)
    expect([message.length, stack?.length, name.length]).toEqual([messageMax, stackMax, 128])
    expect(message).toBe(`${"m".repeat(messageMax - 1)}…`)
    expect(errorInfo({ a: "x".repeat(1e6) }).message).toHaveLength(messageMax)
    expect(errorInfo("x".repeat(1e6)).message).toHaveLength(messageMax)
    error.message = "m".repeat(messageMax)
    expect(errorInfo(error).message).toBe(error.message)
  })

  test("frozen errors and errors with a circular cause are no trouble, and none is changed", () => {
    const error = new Error("x")
    error.cause = error
    Object.freeze(error)
    expect(errorInfo(error)).toMatchObject({ name: "Error", message: "x" })
    expect(errorInfo(Object.freeze({ a: 1 })).message).toContain('{"a":1}')
    expect(errorInfo(new AggregateError([error], "Both failed"))).toMatchObject({ name: "AggregateError" })
  })

  test("what it gives can always be stored as JSON", () => {
    const things = [undefined, 5n, circle(), hostile(1), new Error("\ud800"), Symbol("s"), nested(20_000)]
    for (const thrown of things) expect(JSON.parse(JSON.stringify(errorInfo(thrown)))).toEqual(errorInfo(thrown))
  })
})
