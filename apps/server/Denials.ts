// Connections and requests that were refused for what they prove themselves by: counted by address, so that nobody can fill the log or keep the store busy, and told
// to whoever runs the server.
import type { Wrong } from "./TokenBook.ts"

/** A connection or request was refused. All but `at`, `why` and `more` is what the peer says or how it is seen. */
export interface Denied {
  readonly kind: "denied"
  readonly at: number
  readonly address: string
  /** The name in its hello; `null`: it was a request to the API. */
  readonly worker: string | null
  /** `remote`: there is no token to ask for, and it is not on this machine. Never told to the peer. */
  readonly why: Wrong | "remote"
  /** The id in its token or key, which is no secret; `null`: there was none. */
  readonly token: string | null
  /** How many were refused since the event before, and not told one by one. */
  readonly more: number
}

/** Counts refused connections. */
export interface Denials {
  /** Answers whether this address may go on; if not, it is told to come later. */
  readonly add: (denied: Omit<Denied, "kind" | "at" | "more">) => boolean
}

/** Refused connections of one address in a minute. */
export const addressMax = 10
/** Events in a minute, of all addresses together. */
export const eventsMax = 60
/** Addresses that are counted; the one that was counted first is forgotten for another one. */
export const addressesMax = 1_000
const windowMillis = 60_000

/** Starts to count. `now`: epoch milliseconds. */
export const makeDenials = (tell: (event: Denied) => void, now: () => number = Date.now): Denials => {
  const counts = new Map<string, number>()
  let since = now()
  let events = 0
  let more = 0
  return {
    add: (denied) => {
      const at = now()
      // Also when the clock was set back.
      if (Math.abs(at - since) >= windowMillis) {
        counts.clear()
        since = at
        events = 0
      }
      const key = networkOf(denied.address)
      const count = (counts.get(key) ?? 0) + 1
      if (!counts.has(key) && counts.size >= addressesMax) {
        const [first] = counts.keys()
        if (first !== undefined) counts.delete(first)
      }
      counts.set(key, count)
      if (count > addressMax || events >= eventsMax) {
        more++
      } else {
        events++
        tell({ kind: "denied", at, ...denied, more })
        more = 0
      }
      return count <= addressMax
    },
  }
}

/** Who counts as one: an IPv4 address, or the 64 bits of an IPv6 network that one customer has. */
export const networkOf = (address: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!address.includes(":")) return address
  const [head = "", tail] = address.split("%", 1)[0]?.split("::") ?? []
  const before = head === "" ? [] : head.split(":")
  const after = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...Array.from({ length: zeros }, () => "0"), ...after]
  return groups.slice(0, 4).join(":")
}
