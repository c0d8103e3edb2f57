// I13: from the moment that a node is told to drain it asks for no more work and begins none; within the grace period its
// handlers end or their runs are handed back, and when it says that it has drained the store has no run of it.
import { keyOf } from "../../../core/protocol/Shapes.ts"
import type { Seat } from "../Fleet.ts"
import type { Check, Scene } from "./Check.ts"

/** One drain that is under way. */
interface Stop {
  readonly at: number
  /** The node's id; `null` once its lease is lost, and all that it carries is others'. */
  node: string | null
}

// How long a drain may take behind the grace period on a calm node, where answers take no time; and how long before it
// the last call must have failed: a settlement is tried again within two seconds.
const calmMillis = 50
const retryMillis = 2000
// Behind the grace period a drain waits so long for the store, and then leaves what it could not hand back.
const lastWritesMillis = 5000

// What workers have and did not begin: so long a drain waits until they have said so.
const handBackMillis = 2000

/** The checks. */
export const stopChecks = ({ watch, world, swarm, ground }: Scene): Check => {
  const stops = new Map<Seat, Stop>()
  /** What workers have begun goes on without the node, for the next one that they connect to. */
  const begun = new Set<string>()
  const unbegunMillis = swarm.workers === 0 ? 0 : handBackMillis
  const violated = ({ name }: Seat, what: string): void => watch.violated("I13", `${name} ${what}`)
  /** A drain of this life, begun before this instant: what was decided in the same one may cross it. */
  const stopOf = (seat: Seat): Stop | undefined => {
    const stop = stops.get(seat)
    return stop !== undefined && seat.isDraining && stop.at < world.elapsed ? stop : undefined
  }
  return {
    begins: (_worker, assign) => {
      begun.add(keyOf(assign))
    },
    sent: (seat, operation) => {
      const stop = stopOf(seat)
      if (stop !== undefined && operation === "claim")
        violated(seat, `asked for work ${world.elapsed - stop.at} ms after it was told to stop`)
    },
    assigned: (seat, run) => {
      const stop = stopOf(seat)
      if (stop !== undefined)
        violated(seat, `began run ${run.id} ${world.elapsed - stop.at} ms after it was told to stop`)
    },
    lost: (seat) => {
      const stop = stops.get(seat)
      if (stop !== undefined) stop.node = null
    },
    drains: (seat, engine) => {
      stops.set(seat, { at: world.elapsed, node: engine.node() })
    },
    drained: (seat) => {
      const stop = stops.get(seat)
      if (stop === undefined) return violated(seat, "has drained without being told to")
      const millis = world.elapsed - stop.at
      const isCalm = seat.calmSince + retryMillis < stop.at && seat.underWay === 0
      if (isCalm && millis > swarm.graceMillis + unbegunMillis + calmMillis)
        violated(seat, `drained in ${millis} ms with a grace period of ${swarm.graceMillis} ms`)
      // It gave up waiting for a store that did not answer: others reclaim what it carries.
      if (millis >= lastWritesMillis && !isCalm) return
      for (const { run } of ground.table.entries.values())
        if (
          run.state === "running" &&
          run.node === stop.node &&
          !begun.has(keyOf({ run: run.id, token: run.token }))
        )
          violated(seat, `has drained after ${millis} ms, and carries run ${run.id}`)
    },
  }
}
