// The simulation finds bugs: each planted one within `seedMax` seeds, and nothing in the same seeds without it. A check
// that no bug can make fail is worth nothing.
import { afterAll, describe, expect, test } from "vitest"
import { planted, seedMax } from "./bugs/all.ts"
import { hunt, type Hunt, toldOf, withoutBug } from "./bugs/hunt.ts"

describe("simulation > planted bugs", () => {
  const missed: Array<Hunt> = []
  afterAll(() => {
    if (missed.length > 0) console.error(toldOf(missed))
  })

  test("names are unique", () => {
    expect(new Set(planted.map(({ name }) => name)).size).toBe(planted.length)
  })

  test.each(planted.map((bug) => [bug.name, bug.breaks.join(" or "), bug] as const))(
    `${seedMax} seeds suffice to see that %s: breaks %s`,
    (_name, _breaks, bug) => {
      const found = hunt(bug)
      if (found.violation === null) missed.push(found)
      expect(found.violation, toldOf([found])).not.toBeNull()
      expect(withoutBug(found)).toEqual([])
    },
  )
})
