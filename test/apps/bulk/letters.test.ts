// Dead letters in groups, and whole: bounded, whatever there is of them.
import { beforeEach, describe, expect, test } from "vitest"
import { exportLetters, groupLetters } from "../../../apps/bulk/Letters.ts"
import { lookLetters } from "../../../apps/bulk/Look.ts"
import { runId } from "../../../core/contract/Fixtures.ts"
import { makeBulkWorld } from "../server/bulkWorld.ts"

let world: ReturnType<typeof makeBulkWorld>
beforeEach(() => {
  world = makeBulkWorld()
})
const any = { filter: {}, namespace: null, frozenAt: Infinity }

describe("groupLetters", () => {
  test("of 10,001 letters looks at 10,000, and says so", async () => {
    await world.letters(10_001, (index) => ({ name: "E", message: `Number ${index}`, kind: "error" }))
    const { groups, letters, exact } = await groupLetters(world.store, any)
    expect([letters, exact, groups.map(({ count, pattern }) => [count, pattern])]).toEqual([
      10_000,
      false,
      [[10_000, "E: Number #"]],
    ])
    // One less, and they are all.
    await world.driver.drop([runId(1)])
    expect(await groupLetters(world.store, any)).toMatchObject({ letters: 10_000, exact: true })
  })

  test("no letter is no group", async () => {
    expect(await groupLetters(world.store, any)).toEqual({ groups: [], letters: 0, exact: true })
  })
})

describe("exportLetters", () => {
  test("reads a page when it is wanted, and no more", async () => {
    await world.letters(101)
    let [pages, rows] = [0, 0]
    world.breaks.set("deadLetters", () => pages++)
    world.breaks.set("attempts", () => rows++)
    const letters = exportLetters(world.store, any)
    for (let n = 0; n < 5; n++) await letters.next()
    expect([pages, rows]).toEqual([1, 5])
    const seen = new Set<string>()
    for await (const letter of letters) seen.add(letter.runId)
    expect([seen.size, rows]).toEqual([96, 101])
  })

  test("goes on in its order while letters come and go", async () => {
    await world.letters(60)
    const seen: Array<string> = []
    for await (const { runId: id } of exportLetters(world.store, any)) {
      seen.push(id)
      if (seen.length === 1) await world.driver.drop([runId(1), runId(60)])
    }
    expect(seen).toEqual(Array.from({ length: 59 }, (_, index) => runId(60 - index)))
  })
})

test("lookLetters > of a rare error: each call reads a bounded part, and says where to go on", async () => {
  await world.letters(5_000, (index) => ({ name: index === 0 ? "Rare" : "E", message: "x", kind: "error" }))
  const rare = { ...any, filter: { error: "Rare" } }
  const first = await lookLetters(world.store, rare, undefined, 10)
  expect([first.letters, first.looked]).toEqual([[], 2_000])
  const second = await lookLetters(world.store, rare, first.next ?? "", 10)
  const third = await lookLetters(world.store, rare, second.next ?? "", 10)
  expect([third.letters.map(({ runId: id }) => id), third.looked, third.next]).toEqual([
    [runId(1)],
    1_000,
    null,
  ])
})
