// Bugs of workers that speak the protocol, of the nodes that serve them, and on the way between the two.
import * as Effect from "effect/Effect"
import type { Settlement } from "../../../core/domain/Outcome.ts"
import type { Claim } from "../../../core/ports/StoreDriver.ts"
import { keyOf } from "../../../core/protocol/Shapes.ts"
import { stepWorker } from "../../../core/protocol/WorkerSession.ts"
import { restless } from "../Swarm.ts"
import { around, type Planted } from "./Planted.ts"

/** What every settlement is told when nobody asked the store. */
const asIfSettled = (settlements: unknown): never =>
  (settlements as ReadonlyArray<Settlement>).map(({ id }) => ({
    id,
    result: "settled",
    state: "succeeded",
    dueAt: 0,
  })) as never

/** A node that dies then has taken an outcome from its worker, which keeps it no more. */
export const settledTooSoon: Planted = {
  name: "an outcome is acknowledged before the store has answered",
  breaks: ["W2"],
  swarm: restless,
  make: () => ({
    store: (honest, { lane }) =>
      around(honest, "settle", (call, [settlements]) => {
        Effect.runForkWith(lane.context)(Effect.delay(call, 300))
        return Effect.succeed(asIfSettled(settlements))
      }),
  }),
}

/** Its acknowledgement did not arrive, so the assignment comes again. */
export const begunTwice: Planted = {
  name: "a worker forgets with its connection what it has begun",
  breaks: ["W1"],
  swarm: { ...restless, frameMillis: 300, lineCutMillis: 1000 },
  make: () => ({
    worker: () => (state, event, moment) => {
      if (event.kind === "opened") {
        state.begun.clear()
        for (const [key, entry] of state.hand) if (entry.state !== "ended") state.hand.delete(key)
      }
      return stepWorker(state, event, moment)
    },
  }),
}

interface Named {
  run: string
  attempt: number
  token: number
}

/** The run was given to somebody else in the meantime: what the first one did counts for the second one. */
export const adoptedByRun: Planted = {
  name: "a worker's attempt is adopted without a look at its token",
  breaks: ["I4"],
  swarm: restless,
  make: () => {
    /** By worker and run: what it is called at the node, and at the worker. */
    const atNode = new Map<string, Named>()
    const atWorker = new Map<string, Named>()
    return {
      frame: (frame, direction, { worker }, { table }) => {
        const message = JSON.parse(frame) as {
          type: string
          inHand?: Array<Named>
          acks?: Array<Named>
        } & Named
        const parts = [
          ...(message.inHand ?? []),
          ...(message.acks ?? []),
          ...("run" in message ? [message] : []),
        ]
        for (const part of parts) {
          const row = table.entries.get(part.run)?.run
          if (message.type === "hello" && row !== undefined && row.token !== part.token) {
            const { id: run, attempt, token } = row
            atNode.set(`${worker} ${keyOf(part)}`, { run, attempt, token })
            atWorker.set(`${worker} ${keyOf({ run, token })}`, { ...part })
          }
          const names = direction === "up" ? atNode : atWorker
          const { run, attempt, token } = names.get(`${worker} ${keyOf(part)}`) ?? part
          Object.assign(part, { run, attempt, token })
        }
        return JSON.stringify(message)
      },
    }
  },
}

/** A run that kills its worker goes round for ever. */
export const lostNotUsed: Planted = {
  name: "an attempt that was begun is handed back when its worker is lost",
  breaks: ["W3"],
  swarm: { ...restless, workerCrashMillis: 2000 },
  make: () => ({
    driver: (honest) => ({
      ...honest,
      settle: (settlements) =>
        honest.settle(
          settlements.map((each) =>
            each.kind === "failed" && each.error.name === "WorkerLost"
              ? { id: each.id, token: each.token, kind: "released" }
              : each,
          ),
        ),
    }),
  }),
}

/** Each handler that nobody waits for takes a slot for ever. */
export const strayForgotten: Planted = {
  name: "a worker's slot leaks after it was lost",
  breaks: ["W4"],
  swarm: restless,
  make: () => ({
    worker: () => (state, event, moment) =>
      event.kind === "ended" && state.strays.has(keyOf(event))
        ? stepWorker(state, { kind: "tick" }, moment)
        : stepWorker(state, event, moment),
  }),
}

/** All workers look as if they were in the right place. */
export const labelsNotRead: Planted = {
  name: "placement does not look at the labels",
  breaks: ["W5"],
  swarm: restless,
  make: () => ({
    frame: (frame, direction) =>
      direction === "up" ? frame.replace('"region":"us"', '"region":"eu"') : frame,
  }),
}

/** What it had begun stands still, and nobody else has it. */
export const graceTooLong: Planted = {
  name: "a node waits eight seconds for a worker whose connection was cut",
  breaks: ["W3"],
  swarm: restless,
  make: () => ({ terms: { graceMillis: 8000 } }),
}

/** The same, of one that is gone without a word. */
export const silenceTooLong: Planted = {
  name: "a node waits a minute for a sign of life",
  breaks: ["W3"],
  swarm: { ...restless, lineCutMillis: 0 },
  make: () => ({ terms: { lostMillis: 60_000 } }),
}

/** They stay with a node that is gone. */
export const keptOnDrain: Planted = {
  name: "a node that drains keeps what its workers have not begun",
  breaks: ["I13"],
  swarm: { ...restless, drainMillis: 3000 },
  make: () => ({
    store: (honest) =>
      around(honest, "settle", (call, [settlements]) =>
        (settlements as ReadonlyArray<Settlement>).every(({ kind }) => kind === "released")
          ? Effect.succeed(asIfSettled(settlements))
          : call,
      ),
  }),
}

/** Its workers have nothing to do. */
export const nothingForWorkers: Planted = {
  name: "a node claims nothing for its workers",
  breaks: ["I10"],
  swarm: restless,
  make: () => ({
    store: (honest) =>
      around(honest, "claim", (call, [wish]) =>
        (wish as Claim).acknowledged ? call : Effect.succeed([] as never),
      ),
  }),
}
