// What a handler throws to say more than "failed".
import { describe, expect, test } from "vitest"
import { InvalidInput } from "../../../core/domain/Errors.ts"
import { errorInfo } from "../../../core/domain/Payload.ts"
import { NonRetryable, RetryAfter, Snooze, snoozeMinMillis } from "../../../core/domain/Signals.ts"
import { quote, type TimeSpan } from "../../../core/domain/TimeSpan.ts"

describe("Signals", () => {
  test("each is an Error with a name of its own, a message and a stack", () => {
    for (const [signal, name] of [
      [new NonRetryable("No such customer"), "NonRetryable"],
      [new RetryAfter("1m", "Busy"), "RetryAfter"],
      [new Snooze("1m"), "Snooze"],
    ] as const) {
      expect(signal).toBeInstanceOf(Error)
      expect(signal.name).toBe(name)
      expect(signal.message).not.toBe("")
      expect(signal.stack).toContain("Signals.test")
      expect(errorInfo(signal)).toMatchObject({ name, message: signal.message, kind: "error" })
    }
  })

  test("none is taken for another, and a subclass counts as its parent", () => {
    class Gone extends NonRetryable {}
    expect(new Gone("x")).toBeInstanceOf(NonRetryable)
    expect(new RetryAfter("1s")).not.toBeInstanceOf(NonRetryable)
    expect(new Snooze("1s")).not.toBeInstanceOf(RetryAfter)
  })

  test("NonRetryable and RetryAfter keep a cause", () => {
    const cause = new Error("404")
    expect(new NonRetryable("Gone", { cause }).cause).toBe(cause)
    expect(new RetryAfter("1s", "Busy", { cause }).cause).toBe(cause)
  })

  test("RetryAfter has its delay in milliseconds, rounded up, and a message of its own", () => {
    expect(new RetryAfter("1h30m").delayMillis).toBe(5_400_000)
    expect(new RetryAfter(0).delayMillis).toBe(0)
    expect(new RetryAfter(1.2).delayMillis).toBe(2)
    expect(new RetryAfter("1s").message).toBe("The handler asked for a later attempt")
  })

  test("Snooze lasts a moment at least", () => {
    expect(new Snooze("2m").delayMillis).toBe(120_000)
    expect(new Snooze(0).delayMillis).toBe(snoozeMinMillis)
    expect(new Snooze(99).delayMillis).toBe(snoozeMinMillis)
    expect(new Snooze(101).delayMillis).toBe(101)
  })

  test("a span that is none is refused where it is written, naming the signal", () => {
    for (const span of [Number.NaN, -1, Infinity, "5 minutes", "", null, undefined, {}]) {
      for (const [make, field] of [
        [() => new RetryAfter(span as TimeSpan), "RetryAfter"],
        [() => new Snooze(span as TimeSpan), "Snooze"],
      ] as const) {
        let thrown: unknown
        try {
          make()
        } catch (error) {
          thrown = error
        }
        expect(thrown, `${field} ${quote(span)}`).toBeInstanceOf(InvalidInput)
        expect((thrown as InvalidInput).field).toBe(field)
      }
    }
  })
})
