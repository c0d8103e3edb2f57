// An engine beside one of a newer version, which has changed the store's tables.
import { expect, test } from "vitest"
import { StoreUnusable } from "../../../core/domain/Errors.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { jobRow, makeWorld, scheduleRow, startAt } from "./world.ts"

test("an engine whose store is of a newer version says so once, plans and takes nothing more, and can be drained", async () => {
  const world = makeWorld()
  try {
    let isNewer = false
    const newer = new StoreUnusable({
      kind: "newerSchema",
      field: "storage",
      reason: "schema has version 2, this program knows 1",
      next: "Upgrade uhrwerk.",
    })
    const driver: StoreDriver = {
      ...world.driver,
      renew: (id, millis) => !isNewer && world.driver.renew(id, millis),
      join: (node, millis) => {
        if (isNewer) throw newer
        return world.driver.join(node, millis)
      },
    }
    const jobs = [jobRow("tick")]
    const schedules = [scheduleRow("tick", { kind: "every", periodMillis: 1000, startAt })]
    const { engine, events, run } = await world.start({ jobs, schedules, driver })
    await world.advance(5500)
    const before = world.executions.length
    expect(before).toBeGreaterThan(4)
    isNewer = true
    await world.advance(30_000)
    expect(world.executions.length).toBeLessThanOrEqual(before + 2)
    expect(events.filter(({ kind }) => kind === "outdated")).toMatchObject([
      { reason: expect.stringContaining("Upgrade uhrwerk") },
    ])
    expect(events.filter(({ kind }) => kind === "trouble")).toEqual([])
    await expect(run(engine.enqueue({ job: "tick", input: null }))).rejects.toThrow(/is stopping/)
    await run(engine.drain(0))
    const ledger = (await world.ledger("tick")).length
    await world.advance(10_000)
    expect((await world.ledger("tick")).length).toBe(ledger)
  } finally {
    await world.end()
  }
})
