// Bugs about one run's row: attempts, times, keys, errors, letters.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { DeadLetter } from "../../../core/domain/DeadLetter.ts"
import * as Transition from "../../../core/domain/Transition.ts"
import type { ErrorInfo, Run } from "../../../core/domain/Run.ts"
import { Heap } from "../../../adapters/store-memory/Heap.ts"
import type { Entry } from "../../../adapters/store-memory/RunTable.ts"
import { StoreInfo } from "../../../core/ports/Store.ts"
import { WatchedRuns } from "../Ground.ts"
import { around, atOnce, type Planted } from "./Planted.ts"

/** A run that kills its node again and again is tried for ever. */
export const noAttemptCap: Planted = {
  name: "reclaim and claim do not look at the limit of attempts",
  breaks: ["I5"],
  make: () => {
    let isReclaiming = false
    class Uncapped extends WatchedRuns {
      override put(entry: Entry, next: Run, now: number, error: ErrorInfo | null = null): void {
        const isCapped = isReclaiming && next.state === "dead" && entry.run.startAcknowledged
        super.put(
          entry,
          isCapped ? { ...next, state: "retrying", endedAt: null, dueAt: now } : next,
          now,
          error,
        )
      }
    }
    return {
      table: () => new Uncapped(),
      driver: (honest, { table }) => ({
        ...honest,
        reclaim: (self, limit) => {
          isReclaiming = true
          const taken = honest.reclaim(self, limit)
          isReclaiming = false
          return taken
        },
        claim: (wish) => {
          const taken = [...atOnce(honest.claim(wish))]
          const now = atOnce(honest.now())
          for (const entry of table.entries.values()) {
            const { run } = entry
            if (run.attempt < run.attemptMax || taken.length === wish.limit) continue
            const next = Transition.claimed({ ...run, attemptMax: run.attempt + 1 }, wish.node, true, now)
            if (next === null) continue
            table.apply(entry, { ...next, attemptMax: run.attemptMax }, now)
            taken.push(entry.run)
          }
          return taken
        },
      }),
    }
  },
}

/** A run whose start is known to have happened is lost for free. */
export const lossForFree: Planted = {
  name: "a loss after the start uses no attempt",
  breaks: ["I5"],
  make: () => ({
    table: () =>
      new (class extends WatchedRuns {
        override put(entry: Entry, next: Run, now: number, error: ErrorInfo | null = null): void {
          const isLost = error?.kind === "lost" && next.state === "retrying"
          super.put(entry, isLost ? { ...next, attempt: next.attempt - 1 } : next, now, error)
        }
      })(),
  }),
}

/** A program that got no answer asks again, and its run begins anew. */
export const enqueuedAgain: Planted = {
  name: "an id that is enqueued again is stored again",
  breaks: ["I4", "I7"],
  make: () => ({
    driver: (honest, { table }) => ({
      ...honest,
      enqueue: (runs) => {
        const answers = atOnce(honest.enqueue(runs))
        for (const [place, { result, id }] of answers.entries()) {
          const run = runs[place]
          if (result === "created" || run === undefined || id !== run.id) continue
          table.insert(Transition.enqueued(run, 0, atOnce(honest.now())))
        }
        return answers
      },
    }),
  }),
}

/** A claim rounds up to the next second. */
export const early: Planted = {
  name: "claim takes what is due within a second",
  breaks: ["I9"],
  make: () => ({
    driver: (honest, { lane }) => ({
      ...honest,
      claim: (wish) => {
        lane.skew += 1000
        const taken = honest.claim(wish)
        lane.skew -= 1000
        return taken
      },
    }),
  }),
}

/** A second run with the key comes in while the first one still runs. */
export const keyFreedEarly: Planted = {
  name: "a unique key is free when its run starts",
  breaks: ["I11"],
  make: () => ({
    table: () =>
      new (class extends WatchedRuns {
        override keyHolder(job: string, key: string): Run | undefined {
          const holder = super.keyHolder(job, key)
          return holder?.state === "running" ? undefined : holder
        }
      })(),
  }),
}

/** One more run than there are slots. */
export const beyondSlots: Planted = {
  name: "claim gives one run more than was asked for",
  breaks: ["I11"],
  make: () => ({
    driver: (honest) => ({
      ...honest,
      claim: (wish) => honest.claim({ ...wish, limit: wish.limit + 1 }),
    }),
  }),
}

/** Only the last attempt's error is known of a run that failed several times. */
export const errorLost: Planted = {
  name: "a retry does not keep the error of its attempt",
  breaks: ["I8"],
  make: () => ({
    table: () =>
      new (class extends WatchedRuns {
        override put(entry: Entry, next: Run, now: number, error: ErrorInfo | null = null): void {
          super.put(entry, next, now, next.state === "retrying" ? null : error)
        }
      })(),
  }),
}

/** Settling writes the state; then the node has the letter written, and may not come to it. */
export const letterAfterState: Planted = {
  name: "the dead letter is written after the state",
  breaks: ["I8"],
  make: () => {
    const unwritten: Array<DeadLetter> = []
    class Later extends WatchedRuns {
      override put(entry: Entry, next: Run, now: number, error: ErrorInfo | null = null): void {
        super.put(entry, next, now, error)
        const letter = this.letters.get(next.id)
        if (next.state !== "dead" || letter === undefined) return
        this.letters.delete(next.id)
        unwritten.push(letter)
      }
    }
    return {
      table: () => new Later(),
      store: (honest, { ground }) => {
        const secondCall = Context.get(honest, StoreInfo).now
        const write = () => {
          for (const letter of unwritten.splice(0)) ground.table.letters.set(letter.runId, letter)
        }
        return around(honest, "settle", (call) =>
          Effect.tap(call, () => Effect.andThen(secondCall, Effect.sync(write))),
        )
      },
    }
  },
}

/** A cancel is acknowledged and forgotten for a run that waits for its next attempt. */
export const cancelIgnored: Planted = {
  name: "a claim does not know of the cancel of a run that retries",
  breaks: ["I12"],
  swarm: { operateMillis: 500 },
  make: () => ({
    driver: (honest, { table }) => ({
      ...honest,
      cancel: (ids, reason) => {
        const [ignored, rest] = [new Set<string>(), new Array<string>()]
        for (const id of ids) {
          if (table.entries.get(id)?.run.state === "retrying") ignored.add(id)
          else rest.push(id)
        }
        const answers = new Map(atOnce(honest.cancel(rest, reason)).map((answer) => [answer.id, answer]))
        return ids.map((id) => answers.get(id) ?? { id, result: "cancelled" as const })
      },
    }),
  }),
}

/** A late success counts after all, though the run was cancelled while it was under way. */
export const cancelUndone: Planted = {
  name: "a success ends a run that was cancelled",
  breaks: ["I7"],
  make: () => ({
    driver: (honest, { table }) => ({
      ...honest,
      settle: (settlements) => {
        const answers = honest.settle(settlements)
        for (const { id, token, kind } of settlements) {
          const entry = table.entries.get(id)
          if (entry?.run.state !== "cancelled" || entry.run.token !== token || kind !== "succeeded") continue
          table.put(entry, { ...entry.run, state: "succeeded", reason: null }, atOnce(honest.now()))
        }
        return answers
      },
    }),
  }),
}

/** Two people press the button, and the work is done twice. */
export const replayedTwice: Planted = {
  name: "a letter is replayed again when it was replayed before",
  breaks: ["I8"],
  swarm: { operateMillis: 500 },
  make: () => ({
    driver: (honest, { table }) => ({
      ...honest,
      replay: (runIds, newIds) => {
        for (const id of runIds) {
          const letter = table.letters.get(id)
          if (letter !== undefined) table.letters.set(id, { ...letter, replayedBy: null })
        }
        return honest.replay(runIds, newIds)
      },
    }),
  }),
}

/** A run that waited too long for a slot starts all the same. */
export const expiryIgnored: Planted = {
  name: "a ready run does not expire",
  breaks: ["I9"],
  make: () => ({
    table: () =>
      new (class extends WatchedRuns {
        override readonly expiring = new (class extends Heap<Entry> {
          override get top(): undefined {
            return undefined
          }
        })(() => false, "expiryPlace")
      })(),
  }),
}
