// Memory that grows in place: it keeps what it held, and a wheel on it is the same wheel.
import { expect, test } from "vitest"
import { makeWasmArena } from "../../../adapters/arena-wasm/mod.ts"
import { makeCopyingArena } from "../../../core/wheel/Arena.ts"
import { TimingWheel } from "../../../core/wheel/TimingWheel.ts"

test.each([
  ["in place", makeWasmArena],
  ["by copy", makeCopyingArena],
])("an arena that grows %s keeps what it held and adds zeros", (_, make) => {
  const arena = make()
  const first = arena(1000)
  for (let at = 0; at < 1000; at++) first[at] = at - 500
  const second = arena(300_000)
  expect(second).toHaveLength(300_000)
  expect(second.subarray(0, 1000)).toEqual(Int32Array.from({ length: 1000 }, (_, at) => at - 500))
  expect(second.subarray(1000).every((word) => word === 0)).toBe(true)
})

test("two arenas share nothing", () => {
  const [one, other] = [makeWasmArena()(10), makeWasmArena()(10)]
  one[3] = 7
  expect(other[3]).toBe(0)
})

test("a wheel that grows in place fires what one fires that grows by copy", () => {
  const fired = [makeWasmArena(), makeCopyingArena()].map((arena) => {
    const wheel = new TimingWheel({ capacity: 1, arena })
    const list: Array<number> = []
    for (let payload = 0; payload < 50_000; payload++) wheel.schedule((payload * 7919) % 100_003, payload)
    wheel.advance(200_000, (payload) => list.push(payload))
    return list
  })
  expect(fired[0]).toHaveLength(50_000)
  expect(fired[0]).toEqual(fired[1])
})

test("more than the largest wheel is refused, and the memory stays", () => {
  const arena = makeWasmArena()
  const before = arena(10)
  before[0] = 5
  expect(() => arena(2 ** 24 * 5 + 2 ** 20)).toThrow()
  expect(arena(20)[0]).toBe(5)
})
