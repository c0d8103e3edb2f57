// Time that moves when told: who sleeps is woken at its instant, in order, and is gone when it is interrupted.
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { expect, test } from "vitest"
import { makeVirtualTime } from "../../../core/engine/VirtualTime.ts"

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

test("virtual time > sleepers wake in the order of their instants, equal ones as they came", async () => {
  const time = makeVirtualTime(1000)
  const woken: Array<string> = []
  const sleep = (name: string, millis: number) =>
    Effect.runForkWith(time.context)(
      Effect.andThen(
        Effect.sleep(millis),
        Effect.sync(() => void woken.push(`${name}@${time.now()}`)),
      ),
    )
  for (const [name, millis] of [
    ["late", 300],
    ["first", 100],
    ["second", 100],
    ["gone", 50],
  ] as const) {
    const fiber = sleep(name, millis)
    await turn()
    if (name === "gone") await Effect.runPromise(Fiber.interrupt(fiber))
  }
  expect(time.nextAt()).toBe(1100)
  time.moveTo(1100)
  await turn()
  expect(woken).toEqual(["first@1100", "second@1100"])
  time.moveTo(time.nextAt())
  await turn()
  expect(woken.slice(2)).toEqual(["late@1300"])
  expect(time.nextAt()).toBe(Number.POSITIVE_INFINITY)
})

test("virtual time > many sleepers that are interrupted in any order leave nothing behind", async () => {
  const time = makeVirtualTime(0)
  const fibers = Array.from({ length: 5000 }, (_, index) =>
    Effect.runForkWith(time.context)(Effect.sleep(1 + ((index * 7919) % 5000))),
  )
  await turn()
  expect(time.nextAt()).toBe(1)
  const kept = new Set([17, 4321])
  const rest = fibers.filter((_, index) => !kept.has(index))
  await Effect.runPromise(Fiber.interruptAll(rest.toReversed()))
  const instants = [...kept].map((index) => 1 + ((index * 7919) % 5000)).sort((a, b) => a - b)
  for (const instant of instants) {
    expect(time.nextAt()).toBe(instant)
    time.moveTo(instant)
    await turn()
  }
  expect(time.nextAt()).toBe(Number.POSITIVE_INFINITY)
})
