// The journal over a real store in memory: one order for several writers, no loss and no repeat over lost answers, clocks
// that step back and readers that come back, and what is said when events are not kept any more.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { AskedStore } from "../../../../apps/server/api/ApiParts.ts"
import { eventsOf, type Told } from "../../../../apps/server/events/Batch.ts"
import { type Journal, type JournalOptions, makeJournal } from "../../../../apps/server/events/Journal.ts"
import {
  origin,
  parsePosition,
  type Position,
  positionText,
} from "../../../../apps/server/events/Position.ts"
import { openSharedStore, type SharedStore } from "../../../../apps/server/SharedStore.ts"
import { checkConfig } from "../../../../apps/sdk/config.ts"
import type { EngineEvent } from "../../../../core/observe/Event.ts"
import { greet, until } from "../project.ts"

let shared: SharedStore
let store: AskedStore
const journals: Array<Journal> = []
const troubles: Array<string> = []
beforeEach(async () => {
  shared = await openSharedStore(await checkConfig({ jobs: [greet], storage: "memory:" }))
  store = shared.store
  troubles.length = 0
})
afterEach(async () => {
  await Promise.all(journals.splice(0).map((each) => each.stop(0)))
  await shared.close()
})

const make = (more: Partial<JournalOptions> = {}, node = "n1"): Journal => {
  const journal = makeJournal({ store, onTrouble: (error) => troubles.push(String(error)), ...more })
  journals.push(journal)
  journal.start(() => node)
  return journal
}
const occurrence = (at: number): EngineEvent => ({
  kind: "occurrence",
  scheduleId: "greet",
  at,
  count: 1,
  reason: "missed",
})
/** Reads on from a position until so many events have come. */
const readOn = async (journal: Journal, from: Position, count: number): Promise<ReadonlyArray<Told>> => {
  const told: Array<Told> = []
  await until(
    `${count} events`,
    async () => {
      const position = told.at(-1)?.position ?? from
      const read = await journal.read(position)
      if ("gap" in read) throw new Error(`gap at ${positionText(read.gap)}`)
      told.push(...eventsOf(read.batches, position))
      await journal.wait(told.at(-1)?.position.batch ?? from.batch, AbortSignal.timeout(20))
    },
    () => told.length >= count,
  )
  return told
}
const numbers = (told: ReadonlyArray<Told>): ReadonlyArray<unknown> =>
  told.map(({ event }) => event.data["from"])
const sequence = (count: number, first = 0) => Array.from({ length: count }, (_, place) => first + place)

describe("one writer", () => {
  test("events come in order, in batches, with ids that grow, also when the clock steps back", async () => {
    let now = 2_000_000
    const journal = make({ now: () => (now -= 1_000) })
    for (const at of sequence(1_200)) journal.hear(occurrence(at))
    const told = await readOn(journal, origin, 1_200)
    expect(numbers(told)).toEqual(sequence(1_200))
    const ids = told.map(({ event }) => event.id)
    expect([...ids].sort()).toEqual(ids)
    expect(new Set(ids).size).toBe(1_200)
    expect(told.at(-1)?.position.batch).toBe(3)
    expect(told[0]?.event).toMatchObject({
      specversion: "1.0",
      source: "/nodes/n1",
      type: "uhrwerk.schedule.missed",
      subject: "greet",
      datacontenttype: "application/json",
    })
  })

  test("what was heard before the start, and what waits at the stop, is written", async () => {
    const journal = makeJournal({ store, onTrouble: (error) => troubles.push(String(error)) })
    journals.push(journal)
    for (const at of sequence(3)) journal.hear(occurrence(at))
    journal.start(() => "n1")
    for (const at of sequence(3, 3)) journal.hear(occurrence(at))
    await journal.stop()
    journal.hear(occurrence(9))
    expect(numbers(await readOn(make(), origin, 6))).toEqual(sequence(6))
  })

  test("a large event does not make a record too large", async () => {
    const journal = make()
    const doing = "x".repeat(20_000)
    for (let index = 0; index < 400; index++) journal.hear({ kind: "trouble", doing, error: doing })
    const told = await readOn(journal, origin, 400)
    expect(told.every(({ event }) => JSON.stringify(event.data).length < 2_200)).toBe(true)
    expect(told.at(-1)?.position.batch).toBeGreaterThan(2)
    expect(troubles).toEqual([])
  })
})

describe("an id says where to go on", () => {
  test("behind any event, in the middle of a batch too, exactly what follows comes", async () => {
    const journal = make()
    for (const at of sequence(50)) journal.hear(occurrence(at))
    const told = await readOn(journal, origin, 50)
    // Of memory, and of the store alone.
    for (const reader of [journal, make()])
      for (const place of [0, 24, 48]) {
        const from = parsePosition(told[place]?.event.id ?? "")
        expect(from).toEqual(told[place]?.position)
        expect(numbers(await readOn(reader, from ?? origin, 49 - place))).toEqual(
          sequence(49 - place, place + 1),
        )
      }
    const last = told.at(-1)?.position ?? origin
    expect(await journal.read(last)).toEqual({ batches: [] })
    expect(await make().read(last)).toEqual({ batches: [] })
  })

  test("of a journal that is another one, or whose batches are gone, it is said, with a place to go on from", async () => {
    const journal = make()
    journal.hear(occurrence(1))
    const [first] = await readOn(journal, origin, 1)
    for (const [count, at] of [2, 3, 4].entries()) {
      journal.hear(occurrence(at))
      await readOn(journal, origin, count + 2)
    }
    const foreign = { ...(first?.position ?? origin), mark: "ffffffff" }
    expect(await make().read(foreign)).toEqual({ gap: origin })
    expect(await make().read({ ...foreign, batch: 900 })).toEqual({ gap: origin })
    await store.deleteRecords("event", ["000000000001", "000000000002"])
    const read = await make().read(first?.position ?? origin)
    expect(read).toEqual({ gap: { batch: 2, index: 0, mark: "00000000" } })
    expect(numbers(await readOn(make(), "gap" in read ? read.gap : origin, 2))).toEqual([3, 4])
    expect(await make().read(origin)).toEqual(read)
  })

  test.each(["", "0", "000000000001-000", "000000000001-000-1234567g", "x".repeat(64)])(
    "%j is none",
    (text) => expect(parsePosition(text)).toBeUndefined(),
  )
})

describe("several writers", () => {
  test("a reader that reads all the while misses nothing and sees nothing twice, in the order of each writer", async () => {
    // Answers come late, and in another order than the puts were made.
    let seed = 7
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
    const slow: JournalOptions["store"] = {
      ...store,
      putRecords: async (records) => {
        await new Promise((resolve) => setTimeout(resolve, random() * 30))
        const answer = await store.putRecords(records)
        await new Promise((resolve) => setTimeout(resolve, random() * 30))
        return answer
      },
    }
    const clocks = [9e12, 1e12, 5e12]
    const writers = clocks.map((at, place) => make({ store: slow, now: () => at }, `n${place}`))
    const reader = make({}, "reader")
    const reading = readOn(reader, origin, 900)
    for (let round = 0; round < 30; round++) {
      for (const [place, writer] of writers.entries())
        for (let index = 0; index < 10; index++) writer.hear(occurrence(place * 1_000 + round * 10 + index))
      await new Promise((resolve) => setTimeout(resolve, random() * 40))
    }
    const told = await reading
    expect(told.length).toBe(900)
    for (const place of [0, 1, 2])
      expect(numbers(told.filter(({ event }) => event.source === `/nodes/n${place}`))).toEqual(
        sequence(300, place * 1_000),
      )
    expect(troubles).toEqual([])
  })

  test("an answer that is lost, of a put that was done or was not, neither loses nor repeats a batch", async () => {
    let call = 0
    const faulty: JournalOptions["store"] = {
      ...store,
      putRecords: async (records) => {
        call++
        if (call % 4 === 1) throw new Error("lost before")
        const answer = await store.putRecords(records)
        if (call % 4 === 2) throw new Error("lost after")
        return answer
      },
    }
    const one = make({ store: faulty }, "n1")
    const two = make({}, "n2")
    for (const round of sequence(3)) {
      one.hear(occurrence(round))
      two.hear(occurrence(100 + round))
      await readOn(two, origin, 2 * round + 2)
    }
    const told = await readOn(two, origin, 6)
    expect(new Set(numbers(told))).toEqual(new Set([0, 1, 2, 100, 101, 102]))
    expect(told.length).toBe(6)
    expect(troubles.length).toBeGreaterThan(1)
  })

  test("one that wrote nothing for long does not take a number that was used and pruned", async () => {
    const idle = make({}, "idle")
    idle.hear(occurrence(1))
    await readOn(idle, origin, 1)
    const busy = make({}, "busy")
    for (const at of [2, 3, 4]) {
      busy.hear(occurrence(at))
      await readOn(busy, origin, at)
    }
    await store.deleteRecords("event", ["000000000001", "000000000002", "000000000003"])
    const from = await busy.newest()
    // So long that it knows that it must look.
    const begin = performance.now()
    await until(
      "a second",
      () => performance.now() - begin,
      (millis) => millis > 1_100,
    )
    idle.hear(occurrence(5))
    const [next] = await readOn(busy, from, 1)
    expect(next?.position.batch).toBe(5)
  })
})

test.each([
  ["too old", { keptMillis: 0 }, 1],
  ["too many", { batchesMax: 2 }, 2],
  ["too large", { bytesMax: 300 }, 2],
])("batches that are %s are removed, never the last one, so that numbers go on", async (_, bound, left) => {
  const writer = make()
  for (const at of sequence(5)) {
    writer.hear(occurrence(at))
    await readOn(writer, origin, at + 1)
  }
  const journal = make({ pruneMillis: 10, ...bound })
  const stored = () => store.records({ kind: "event", order: "ascending", limit: 10 })
  const rows = await until("the others are gone", stored, (all) => all.length === left)
  expect(rows.at(-1)?.id).toBe("000000000005")
  const from = await journal.newest()
  writer.hear(occurrence(5))
  const [next] = await readOn(journal, from, 1)
  expect(next?.position.batch).toBe(6)
})

test("events that the store does not take wait up to a bound; how many were lost is told in order", async () => {
  let isUp = false
  const journal = make({
    waitingMax: 10,
    store: {
      ...store,
      putRecords: (records) => (isUp ? store.putRecords(records) : Promise.reject(new Error("down"))),
    },
  })
  for (const at of sequence(25)) journal.hear(occurrence(at))
  await until(
    "a try",
    () => troubles.length,
    (count) => count > 0,
  )
  isUp = true
  const told = await readOn(journal, origin, 11)
  expect(numbers(told.slice(0, 10))).toEqual(sequence(10))
  expect(told[10]?.event).toMatchObject({ type: "uhrwerk.events.lost", data: { count: 15 } })
})
