// Whose share a schedule is, and for how long others keep away from it.
import { describe, expect, test } from "vitest"
import { makeCourtesy, ringOf } from "../../../core/trigger/Shares.ts"
import { tally } from "../engine/world.ts"

const nodesOf = (count: number) =>
  Array.from({ length: count }, (_, n) => `0199a1b2-0000-7000-8000-00000000000${n}`)
const ids = Array.from({ length: 10_000 }, (_, n) => `report ${n}`)
const owners = (nodes: ReadonlyArray<string>) => {
  const { ownerOf } = ringOf(nodes)
  return ids.map(ownerOf)
}

describe("ring", () => {
  test.each([2, 3, 5, 10])("shares are about equal between %i nodes", (count) => {
    const shares = [...tally(owners(nodesOf(count))).values()]
    expect(shares).toHaveLength(count)
    const mean = ids.length / count
    expect(Math.max(...shares)).toBeLessThan(mean * 1.4)
    expect(Math.min(...shares)).toBeGreaterThan(mean * 0.6)
  })

  test("every node comes to the same answer, in whatever order it read the others", () => {
    expect(owners(nodesOf(5).toReversed())).toEqual(owners(nodesOf(5)))
  })

  test("one that goes moves only its own shares, and to all others", () => {
    const before = owners(nodesOf(5))
    const gone = nodesOf(5)[2]
    const after = owners(nodesOf(5).filter((node) => node !== gone))
    const moved = new Set<string | undefined>()
    for (const [index, owner] of before.entries()) {
      if (owner === gone) moved.add(after[index])
      else expect(after[index]).toBe(owner)
    }
    expect(moved.size).toBe(4)
  })

  test("without nodes nothing is anybody's", () => expect(ringOf([]).ownerOf("report")).toBeUndefined())
})

describe("courtesy", () => {
  interface Row {
    readonly id: string
    readonly version: number
    readonly owner?: string
  }
  const row = (id: string, owner?: string, version = 1): Row => ({
    id,
    version,
    ...(owner === undefined ? {} : { owner }),
  })
  const make = () => {
    const split = makeCourtesy({ graceMillis: 500, distrustMillis: 5000 })
    return (rows: ReadonlyArray<Row>, at: number) => {
      const { taken, left } = split(rows, "me", ({ owner }) => owner, at)
      expect(taken.length + left).toBe(rows.length)
      return taken.map(({ id }) => id).join("")
    }
  }

  test("takes its own and what is nobody's at once, and leaves the rest while it goes on", () => {
    const look = make()
    const rows = [row("a", "me"), row("b", "x"), row("c"), row("d", "y")]
    expect(look(rows, 0)).toBe("ac")
    expect(look(rows.slice(1), 499)).toBe("c")
    // Both have moved on: another schedule, and another instant of the same.
    expect(look([row("e", "x"), row("d", "y", 2)], 900)).toBe("")
    expect(look([row("e", "x"), row("d", "y", 2)], 1399)).toBe("")
    expect(look([row("e", "x"), row("d", "y", 2)], 1400)).toBe("ed")
  })

  test("takes what one does not move on with, and all of that one for a while, but of no other", () => {
    const look = make()
    const rows = [row("a", "x"), row("b", "y"), row("c", "x")]
    look(rows, 0)
    const later = [row("a", "x"), row("d", "y"), row("c", "x")]
    expect(look(later, 500)).toBe("ac")
    // Nothing is waited for any more, also after looks at which nothing of it was due.
    expect(look([], 1000)).toBe("")
    expect(look([row("e", "x"), row("f", "y")], 2000)).toBe("e")
    // When the time is over it is trusted again.
    expect(look([row("g", "x")], 5600)).toBe("")
  })
})
