// Steps of schedules that are alike: the decisions about their instants, their runs and their cursors, a batch in one
// transaction. A step whose schedule has moved on meanwhile is left out, with all that is its.
import { decisionsOf, type Fire, isPlain as isSimple, Transition } from "uhrwerk/sql"
import type { Queryable } from "./Connection.ts"
import { addCounts, changesOf } from "./counts.ts"
import { storeRuns } from "./newRuns.ts"
import { insertDecisions, moveSchedules } from "./ScheduleTable.ts"
import { clockAtRow, type Given } from "./Statement.ts"

/** Whether a step needs no look at anything but its schedule's version. */
export const isPlain = (fire: Fire): boolean =>
  isSimple(fire) && new Set(fire.occurrences.map(({ at }) => at)).size === fire.occurrences.length

/** Takes steps of different schedules, all of them plain; fails with a duplicate key when an instant or a run is there. */
export const fireTogether = async (
  queryable: Queryable,
  fires: ReadonlyArray<Fire>,
  given: Given,
): Promise<ReadonlyArray<"fired" | "conflict">> => {
  if (fires.length === 0) return []
  const rows = await queryable.read(
    `select id, version, trigger_id, ${clockAtRow} as now from schedules force index (primary) where id in (?)
      order by id for update`,
    [fires.map(({ scheduleId }) => scheduleId)],
  )
  const now = given ?? rows.reduce((latest, row) => Math.max(latest, row["now"] as number), 0)
  const schedules = new Map(rows.map((row) => [row["id"], row]))
  const isHeld = ({ scheduleId, version }: Fire): boolean =>
    schedules.get(scheduleId)?.["version"] === version
  const held = fires.filter(isHeld)
  if (held.length > 0) {
    await moveSchedules(queryable, held)
    await insertDecisions(
      queryable,
      decisionsOf(held, now),
      (id) => (schedules.get(id)?.["trigger_id"] ?? null) as number | null,
    )
    const runs = held.flatMap((fire) => fire.runs.map((run) => Transition.enqueued(run, 0, now)))
    await storeRuns(queryable, runs)
    await addCounts(queryable, changesOf(runs.map(({ job, state }) => ({ job, from: null, to: state }))))
  }
  return fires.map((fire) => (isHeld(fire) ? "fired" : "conflict"))
}
