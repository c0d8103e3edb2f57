// The operations that are hot: each tries its short way first, and goes the general one where that does not do.
import {
  batchMax,
  checkBatch,
  checkFires,
  checkLimit,
  type Claim,
  each,
  type Enqueued,
  type Fire,
  fireOne,
  type Held,
  type NewRun,
  promote,
  promoteAll,
  reclaim,
  type Reclaimed,
  type Run,
  runAsync,
  type Settled,
  type Settlement,
  settleOne,
  storeRuns,
} from "uhrwerk/sql"
import { adopt } from "./adopt.ts"
import { isLeftBehind, look, type Look, makeReady, start, take } from "./claim.ts"
import { enqueueAlone } from "./enqueue.ts"
import { isDuplicate } from "./failures.ts"
import { fireTogether, isPlain } from "./fire.ts"
import type { Session } from "./Session.ts"
import { isPlain as isSingle, settleAlone } from "./settle.ts"

// How often one claim mends what stands in its way; each time at most `batchMax` runs and flow runs.
const mendMax = 20

/** The part of a store that moves runs from new to ended, and schedules forward. */
export const makeHot = ({ connection, given, transaction, run, fold }: Session) => {
  const fireAll = (fires: ReadonlyArray<Fire>, together: ReadonlySet<Fire>) =>
    transaction(async (work, queryable) => {
      const done = await fireTogether(queryable, [...together], given())
      const answers = new Map([...together].map((fire, index) => [fire, done[index]]))
      for (const fire of fires)
        if (!together.has(fire)) answers.set(fire, await runAsync(fireOne(work, fire)))
      return fires.map((fire) => answers.get(fire) ?? "conflict")
    })

  const takeOrLeave = async (wish: Claim, seen: Look): Promise<ReadonlyArray<Run>> => {
    try {
      return await connection.transaction(async (queryable) => {
        const taken = await take(queryable, wish, seen, given())
        if (taken === null) throw leaseEnded
        return taken
      })
    } catch (error) {
      if (error !== leaseEnded) throw error
      return []
    }
  }

  return {
    enqueue: async (runs: ReadonlyArray<NewRun>): Promise<ReadonlyArray<Enqueued>> => {
      checkBatch("runs", runs)
      if (runs.some(({ needs }) => needs.length > 0)) return run((work) => storeRuns(work, runs))
      const answers = await enqueueAlone(connection, runs, given())
      fold()
      return answers
    },
    claim: async (wish: Claim): Promise<ReadonlyArray<Run>> => {
      checkLimit(wish.limit, batchMax)
      for (let mended = 0; mended < mendMax; mended++) {
        const seen = await look(connection, given(), wish)
        if (seen.mend) {
          await run((work) => promoteAll(work, batchMax))
          continue
        }
        if (!seen.due && !(seen.ready && seen.holds)) return []
        const taken = await takeOrLeave(wish, seen)
        fold()
        return taken
      }
      return []
    },
    started: async (held: ReadonlyArray<Held>): Promise<ReadonlyArray<boolean>> => {
      checkBatch("runs", held)
      return start(connection, held)
    },
    adopt: async (node: string, held: ReadonlyArray<Held>): Promise<ReadonlyArray<boolean>> => {
      checkBatch("runs", held)
      if (held.length === 0) return []
      return connection.transaction((queryable) => adopt(queryable, node, held, given()))
    },
    settle: async (settlements: ReadonlyArray<Settlement>): Promise<ReadonlyArray<Settled>> => {
      checkBatch("settlements", settlements)
      if (settlements.length === 0) return []
      if (settlements.every(isSingle) && isDistinct(settlements)) {
        const settled = await connection.transaction((queryable) =>
          settleAlone(queryable, settlements, given()),
        )
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
      const seen = await look(connection, given(), { queues: [], node: "" })
      if (seen.mend) return run((work) => promote(work, limit))
      if (!seen.due) return 0
      const count = await connection.transaction((queryable) => makeReady(queryable, seen.now, limit))
      fold()
      return count
    },
    reclaim: async (self: string, limit: number): Promise<ReadonlyArray<Reclaimed>> => {
      checkLimit(limit, batchMax)
      // Nearly always there is nothing, and finding that out takes no transaction.
      if (!(await isLeftBehind(connection, self, given()))) return []
      return run((work) => reclaim(work, self, limit))
    },
    fire: async (fires: ReadonlyArray<Fire>): Promise<ReadonlyArray<"fired" | "conflict">> => {
      checkFires(fires)
      if (fires.length === 0) return []
      // Of several steps of one schedule, the first may go together with others.
      const schedules = new Map(fires.toReversed().map((fire) => [fire.scheduleId, fire]))
      const together = new Set(
        fires.filter((fire) => isPlain(fire) && schedules.get(fire.scheduleId) === fire),
      )
      try {
        if (together.size < fires.length) return await fireAll(fires, together)
        const answers = await connection.transaction((queryable) => fireTogether(queryable, fires, given()))
        fold()
        return answers
      } catch (error) {
        if (!isDuplicate(error)) throw error
        return fireAll(fires, new Set())
      }
    },
  }
}

// Thrown inside a transaction to take back what it did, and caught right outside.
const leaseEnded = new Error("The lease of the node has ended")

const isDistinct = (rows: ReadonlyArray<{ readonly id: string }>): boolean =>
  new Set(rows.map(({ id }) => id)).size === rows.length
