// Steps of schedules in a file: of a minute that many schedules share, all steps together cost three statements a
// chunk; what is special goes one by one.
import * as Transition from "../../../core/domain/Transition.ts"
import type { Fire } from "../../../core/ports/StoreDriver.ts"
import { checkFires } from "../../../core/ports/StoreLimits.ts"
import { decisionsOf, fireOne, isPlain } from "../fire.ts"
import { runSync } from "../Sql.ts"
import type { Work } from "../Work.ts"
import type { Session } from "./Session.ts"

// Of which a batch is worth its own statements.
const togetherMin = 10

/** The part of a store that moves schedules. */
export const makeFire = ({ now, tables: { runs, schedules }, transaction }: Session) => {
  /** Steps that need no look at anything; throws when one of them is a conflict after all. */
  const fireTogether = (work: Work, fires: ReadonlyArray<Fire>): void => {
    if (schedules.move(fires) < fires.length) throw notAlike
    const decidedAt = now()
    const decisions = decisionsOf(fires, decidedAt)
    if (schedules.decide(decisions) < decisions.length) throw notAlike
    const rows = fires.flatMap((fire) => fire.runs.map((run) => Transition.enqueued(run, 0, decidedAt)))
    if (runs.insertNew(rows) < rows.length) throw notAlike
    for (const { job, state } of rows) work.count(job, null, state)
  }

  return {
    fire: (fires: ReadonlyArray<Fire>): ReadonlyArray<"fired" | "conflict"> => {
      checkFires(fires)
      const one = (work: Work, fire: Fire) => runSync(fireOne(work, fire))
      // A schedule with a step that must be looked at has all of them looked at, in their order.
      const special = new Set(fires.filter((fire) => !isPlain(fire)).map(({ scheduleId }) => scheduleId))
      const isAlike = ({ scheduleId }: Fire): boolean => !special.has(scheduleId)
      const alike = fires.filter(isAlike)
      try {
        return transaction((work) => {
          if (alike.length < togetherMin) return fires.map((fire) => one(work, fire))
          fireTogether(work, alike)
          return fires.map((fire) => (isAlike(fire) ? "fired" : one(work, fire)))
        })
      } catch (error) {
        if (error !== notAlike) throw error
        return transaction((work) => fires.map((fire) => one(work, fire)))
      }
    },
  }
}

// Thrown inside a transaction to take back what it did, and caught right outside.
const notAlike = new Error("A step of the batch must be looked at by itself")
