// I3, as nodes have to see it: whoever has lost its lease asks for no more work under it. A node that nothing disturbs
// hears of the loss with its next renewal, whatever kept it from that before.
import type { Check, Scene } from "./Check.ts"

// For a renewal and a claim at the same instant.
const crossMillis = 10

/** The check. */
export const leaseCheck = ({ watch, world, swarm }: Scene): Check => {
  const { leaseMillis } = swarm
  /** Until when each node's lease held, on the world's clock: steps of the store's do not count. */
  const heldUntil = new Map<string, number>()
  return {
    saw: ({ operation, args }, answer) => {
      if (operation === "join") heldUntil.set((args[0] as { id: string }).id, world.elapsed + leaseMillis)
      if (operation === "renew" && answer === true)
        heldUntil.set(args[0] as string, world.elapsed + leaseMillis)
    },
    // As it is sent: on a slow way it may arrive when the lease is over.
    sent: (seat, operation) => {
      const node = seat.engine?.node()
      if (operation !== "claim" || node === undefined) return
      const noticed = Math.max(heldUntil.get(node) ?? 0, seat.calmSince) + leaseMillis / 4 + crossMillis
      if (world.elapsed > noticed)
        watch.violated("I3", `${seat.name} asks for work as ${node}, ${world.elapsed - noticed} ms too late`)
    },
  }
}
