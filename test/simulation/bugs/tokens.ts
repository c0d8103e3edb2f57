// Bugs about who may change a run: tokens, leases and the clock that leases go by.
import * as Effect from "effect/Effect"
import type { Run } from "../../../core/domain/Run.ts"
import type { Outcome, Settled } from "../../../core/domain/Outcome.ts"
import type { Lane } from "../World.ts"
import { around, atOnce, type Planted } from "./Planted.ts"

/** A late outcome of an attempt that was lost ends the attempt after it. */
export const noTokenCheck: Planted = {
  name: "settle does not check the token",
  breaks: ["I4"],
  make: () => ({
    driver: (honest, { table }) => ({
      ...honest,
      settle: (settlements) =>
        honest.settle(
          settlements.map((each) => ({
            ...each,
            token: table.entries.get(each.id)?.run.token ?? each.token,
          })),
        ),
    }),
  }),
}

/** A node whose clock is ahead takes the runs of nodes that live. */
export const nodeLocalClock: Planted = {
  name: "reclaim goes by the clock of the asking node",
  breaks: ["I3"],
  make: () => {
    const asking = new Map<unknown, Lane>()
    return {
      store: (honest, { lane }) =>
        around(honest, "reclaim", (call, [self]) => {
          asking.set(self, lane)
          return call
        }),
      driver: (honest, { lane }) => ({
        ...honest,
        reclaim: (self, limit) => {
          const { skew } = lane
          lane.skew = asking.get(self)?.skew ?? skew
          const taken = honest.reclaim(self, limit)
          lane.skew = skew
          return taken
        },
      }),
    }
  },
}

/** The node goes on as if its lease held, after its runs were given to others; no store gives it any, and work waits. */
export const renewedAfterExpiry: Planted = {
  name: "renew answers true for a lease that is gone",
  breaks: ["I10"],
  make: () => ({
    driver: (honest) => ({
      ...honest,
      renew: (node, leaseMillis) => atOnce(honest.renew(node, leaseMillis)) || true,
    }),
  }),
}

/** A node that was frozen goes on under a lease that others saw end. */
export const lossNotHeard: Planted = {
  name: "a node does not hear that its lease is lost",
  breaks: ["I3"],
  make: () => ({
    store: (honest) => around(honest, "renew", (call) => Effect.map(call, () => true as never)),
  }),
}

/** What an attempt that was lost gives in the end counts for the one that runs now. */
export const byRunNotAttempt: Planted = {
  name: "an executor knows attempts by the run's id alone",
  breaks: ["I4"],
  make: () => {
    const latest = new Map<string, (outcome: Outcome) => void>()
    return {
      executor: (honest) => ({
        ...honest,
        start: (assignment, done) => {
          const { id } = assignment.run
          latest.set(id, done)
          return honest.start(assignment, (outcome) => (latest.get(id) ?? done)(outcome))
        },
      }),
    }
  },
}

/** The runs of a claim whose answer was lost stay with a node that does not know of them. */
export const claimNotLookedFor: Planted = {
  name: "a node does not look for the runs of a claim that failed",
  breaks: ["I10"],
  make: () => ({ driver: (honest) => ({ ...honest, carried: () => [] }) }),
}

const answering = (name: string, from: Settled["result"], to: Settled["result"]): Planted => ({
  name,
  breaks: ["I4"],
  make: () => ({
    driver: (honest, { table }) => ({
      ...honest,
      settle: (settlements) => {
        const isRepeated = settlements.map(({ id }) => table.entries.get(id)?.run.state !== "running")
        return atOnce(honest.settle(settlements)).map((answer, place) =>
          answer.result === from && isRepeated[place] === true ? { ...answer, result: to } : answer,
        )
      },
    }),
  }),
})

/** The loser is not told: its handler's work counts nowhere, and it reports success. */
export const loserNotTold = answering("a stale outcome is told to be settled", "stale", "settled")

/** Who asks again after a lost answer is told that somebody else has the run. */
export const repeatToldStale = answering(
  "an outcome that comes again is told to be stale",
  "settled",
  "stale",
)

/** Two nodes start one run. */
export const givenTwice: Planted = {
  name: "a claim gives a run that another node has just got",
  breaks: ["I3"],
  make: () => {
    let last: Run | undefined
    return {
      driver: (honest) => ({
        ...honest,
        claim: (wish) => {
          const taken = atOnce(honest.claim(wish))
          const again =
            last !== undefined && last.node !== wish.node && taken.length < wish.limit ? [last] : []
          last = taken[0]
          return [...taken, ...again]
        },
      }),
    }
  },
}

/** A drain releases what its handlers carry, and not what was claimed while it began. */
export const forgottenOnDrain: Planted = {
  name: "drain forgets runs that were claimed and not started",
  breaks: ["I13"],
  swarm: { drainMillis: 3000, slow: 0.5, slowMaxMillis: 200 },
  make: () => {
    const started = new Set<string>()
    return {
      executor: (honest) => ({
        ...honest,
        start: (assignment, done) => {
          started.add(`${assignment.run.id} ${assignment.run.token}`)
          return honest.start(assignment, done)
        },
      }),
      store: (honest) =>
        around(honest, "settle", (call, [settlements]) => {
          const all = settlements as ReadonlyArray<{ id: string; token: number; kind: string }>
          const isForgotten = all.every(
            ({ id, token, kind }) => kind === "released" && !started.has(`${id} ${token}`),
          )
          const answers = all.map(({ id }) => ({ id, result: "settled", state: "ready", dueAt: 0 }))
          return isForgotten ? Effect.succeed(answers as never) : call
        }),
    }
  },
}
