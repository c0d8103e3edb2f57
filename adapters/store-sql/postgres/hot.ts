// The operations that are hot: each tries its one statement first, and goes the general way when that says so.
import type { NewRun, Run } from "../../../core/domain/Run.ts"
import type { PutSchedule } from "../../../core/domain/Schedule.ts"
import type { Settled, Settlement } from "../../../core/domain/Outcome.ts"
import type { Claim, Enqueued, Fire, Held, Reclaimed } from "../../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkFires, checkLimit } from "../../../core/ports/StoreLimits.ts"
import { storeRuns } from "../enqueue.ts"
import { fireOne } from "../fire.ts"
import { putSchedules } from "../schedules.ts"
import { settleOne } from "../settle.ts"
import { runAsync } from "../Sql.ts"
import { each, promote, promoteAll, reclaim } from "../upkeep.ts"
import { makeAdopt } from "./adopt.ts"
import { makeClaim } from "./claim.ts"
import { makeEnqueue } from "./enqueue.ts"
import { isDuplicate } from "./failures.ts"
import { isPlain, makeFire } from "./fire.ts"
import { makeLeftBehind } from "./leftBehind.ts"
import type { Session } from "./Session.ts"
import { isPlain as isSingle, makeSettle } from "./settle.ts"

// How often one claim mends what stands in its way; each time at most `batchMax` runs and flow runs.
const mendMax = 20
// How often schedules are saved anew that other nodes were making at the same time.
const putRepeatMax = 10

/** The part of a store that moves runs from new to ended, and schedules forward. */
export const makeHot = ({ connection, tables, given, transaction, run, fold }: Session) => {
  const enqueueHot = makeEnqueue(tables)
  const { claim, promote: promoteHot, started } = makeClaim(tables)
  const adopt = makeAdopt(tables)
  const settleHot = makeSettle(tables)
  const fireHot = makeFire(tables)
  const isLeftBehind = makeLeftBehind(tables)

  const fireAll = (fires: ReadonlyArray<Fire>, together: ReadonlySet<Fire>) =>
    transaction(async (work, queryable) => {
      const done = together.size === 0 ? [] : await fireHot(queryable, [...together], given())
      const answers = new Map([...together].map((fire, index) => [fire, done[index]]))
      for (const fire of fires)
        if (!together.has(fire)) answers.set(fire, await runAsync(fireOne(work, fire)))
      return fires.map((fire) => answers.get(fire) ?? "conflict")
    })

  return {
    enqueue: async (runs: ReadonlyArray<NewRun>): Promise<ReadonlyArray<Enqueued>> => {
      checkBatch("runs", runs)
      if (runs.some(({ needs }) => needs.length > 0)) return run((work) => storeRuns(work, runs))
      const answers = await enqueueHot(connection, runs, given())
      fold()
      return answers
    },
    claim: async (wish: Claim): Promise<ReadonlyArray<Run>> => {
      checkLimit(wish.limit, batchMax)
      for (let mended = 0; mended < mendMax; mended++) {
        const hot = await claim(connection, wish, given())
        fold()
        if (!hot.mend) return hot.value
        await run((work) => promoteAll(work, batchMax))
      }
      return []
    },
    started: async (held: ReadonlyArray<Held>): Promise<ReadonlyArray<boolean>> => {
      checkBatch("runs", held)
      return started(connection, held)
    },
    adopt: async (node: string, held: ReadonlyArray<Held>): Promise<ReadonlyArray<boolean>> => {
      checkBatch("runs", held)
      return held.length === 0 ? [] : adopt(connection, node, held, given())
    },
    settle: async (settlements: ReadonlyArray<Settlement>): Promise<ReadonlyArray<Settled>> => {
      checkBatch("settlements", settlements)
      if (settlements.every(isSingle) && isDistinct(settlements)) {
        const settled = await settleHot(connection, settlements, given())
        fold()
        if (settled !== null) return settled
      }
      return run((work) =>
        each(
          work,
          settlements,
          ({ id }) => id,
          (settlement) => settleOne(work, settlement),
        ),
      )
    },
    promote: async (limit: number): Promise<number> => {
      checkLimit(limit, batchMax)
      const hot = await promoteHot(connection, limit, given())
      fold()
      return hot.mend ? run((work) => promote(work, limit)) : hot.value
    },
    reclaim: async (self: string, limit: number): Promise<ReadonlyArray<Reclaimed>> => {
      checkLimit(limit, batchMax)
      // Nearly always there is nothing, and finding that out takes no transaction.
      if (!(await isLeftBehind(connection, self, given()))) return []
      return run((work) => reclaim(work, self, limit))
    },
    putSchedules: async (schedules: ReadonlyArray<PutSchedule>): Promise<void> => {
      checkBatch("schedules", schedules)
      for (let repeated = 0; ; repeated++) {
        try {
          return await run((work) => putSchedules(work, schedules))
        } catch (error) {
          // Another node has made one of them since we looked, as when all start at once: it is there by now.
          if (!isDuplicate(error) || repeated === putRepeatMax) throw error
        }
      }
    },
    fire: async (fires: ReadonlyArray<Fire>): Promise<ReadonlyArray<"fired" | "conflict">> => {
      checkFires(fires)
      const schedules = new Map(fires.toReversed().map((fire) => [fire.scheduleId, fire]))
      const together = new Set(
        fires.filter((fire) => isPlain(fire) && schedules.get(fire.scheduleId) === fire),
      )
      try {
        if (together.size < fires.length) return await fireAll(fires, together)
        const answers = await fireHot(connection, fires, given())
        fold()
        return answers
      } catch (error) {
        if (!isDuplicate(error)) throw error
        return fireAll(fires, new Set())
      }
    },
  }
}

const isDistinct = (rows: ReadonlyArray<{ readonly id: string }>): boolean =>
  new Set(rows.map(({ id }) => id)).size === rows.length
