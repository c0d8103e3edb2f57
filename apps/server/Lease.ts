// Of all servers on a store, the one that does something: a record that ends by the store's clock if its holder does not
// say anew that it is there. The holder stops before, by its own count of time: clocks that differ make no second one.
import type { AskedStore } from "./api/ApiParts.ts"

/** A lease that a server holds, or tries to. */
export interface Lease {
  /** Takes it if it is free, or extends it; answers whether it is held. */
  readonly hold: () => Promise<boolean>
  readonly isHeld: () => boolean
  /** Lets another one take it at once. */
  readonly leave: () => Promise<void>
}

const kind = "lease"

/** A lease of a name. */
export const makeLease = (
  store: Pick<AskedStore, "putRecords" | "deleteRecords" | "now">,
  id: string,
  millis: number,
): Lease => {
  let version = 0
  let safeUntil = Number.NEGATIVE_INFINITY
  const isHeld = (): boolean => performance.now() < safeUntil
  return {
    isHeld,
    hold: async () => {
      const begin = performance.now()
      const expiresAt = (await store.now()) + millis
      const [got = 0] = await store.putRecords([{ kind, id, body: "{}", expiresAt, expected: version }])
      version = got
      safeUntil = got === 0 ? Number.NEGATIVE_INFINITY : begin + (millis * 2) / 3
      return isHeld()
    },
    leave: async () => {
      const isOurs = isHeld()
      version = 0
      safeUntil = Number.NEGATIVE_INFINITY
      if (isOurs) await store.deleteRecords(kind, [id])
    },
  }
}
