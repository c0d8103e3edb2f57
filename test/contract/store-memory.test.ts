// The memory store keeps every promise of the contract kit, and its layer runs on Effect's clock.
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { expect, test } from "vitest"
import { layerMemory, memoryDriver } from "../../adapters/store-memory/mod.ts"
import { newRun } from "../../core/contract/Fixtures.ts"
import { RunStore, StoreInfo } from "../../core/ports/Store.ts"
import { registerCases } from "../../apps/sdk/registerCases.ts"

registerCases(test, "memory", (now) => memoryDriver({ now }))

test("layerMemory > the clock of Effect decides what is due", () =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const info = yield* StoreInfo
    const start = yield* info.now
    yield* runs.enqueue([newRun(1, { delayMillis: 1_000 })])
    yield* TestClock.adjust(999)
    expect(yield* runs.promote(10)).toBe(0)
    yield* TestClock.adjust(1)
    expect(yield* runs.promote(10)).toBe(1)
    expect(yield* info.now).toBe(start + 1_000)
  }).pipe(Effect.provide(layerMemory), Effect.provide(TestClock.layer()), Effect.runPromise))
