// Which zone data an instant was computed with, and how a schedule goes on when that was other data than the host's:
// after an update of the runtime, or from a node on another one. The stored instant counts as it stands, since whoever
// stored it decided it, and what follows must repeat none of its wall time and leave none out. Pure.
import type { CronPattern, Slots } from "./Slots.ts"
import { isUtc, spanAt, type Zone, zoneFingerprint } from "./Zone.ts"

/** Where an engine's zone data comes from. */
export interface ZoneSource {
  /** Its release, such as "2026c"; `null` when the runtime does not tell. */
  readonly version: string | null
  /** The zone of an IANA name; absent: the host's. */
  readonly find?: (name: string) => Zone | undefined
}

/** Stamps instants with the zone data: "2026c 1a2b3c4d 7200" is release, fingerprint, offset in seconds. */
export type ZoneStamp = (zone: Zone, at: number) => string | null

const yearMillis = 31_556_952_000

/** A stamp maker; a zone's data is looked through once a year that is asked for. */
export const makeZoneStamp = ({ version }: ZoneSource): ZoneStamp => {
  const known = new Map<Zone, { readonly year: number; readonly text: string }>()
  return (zone, at) => {
    if (isUtc(zone)) return null
    const year = Math.floor(at / yearMillis)
    let data = known.get(zone)
    if (data?.year !== year) {
      data = { year, text: `${version ?? "unknown"} ${zoneFingerprint(zone, at)}` }
      known.set(zone, data)
    }
    return `${data.text} ${offsetAt(zone, at) / 1000}`
  }
}

/** Whether two stamps of one instant are of data that disagree; releases may differ and agree on a zone. */
export const disagree = (stored: string | null, own: string | null): boolean =>
  stored !== null && own !== null && stored.split(" ")[1] !== own.split(" ")[1]

/** The slots of a schedule whose next instant was named by other data. */
export const handedOver = (
  slots: Slots,
  cron: Pick<CronPattern, "clock" | "wild">,
  nextAt: number,
  stored: string,
): Slots => {
  const wall = nextAt + storedOffset(stored)
  // A schedule of every so many minutes means elapsed time: it may come at one wall time twice.
  const isNew = (at: number): boolean => cron.wild || at + offsetAt(cron.clock, at) > wall
  return {
    ...slots,
    after: (instant) => {
      if (instant < nextAt) return nextAt
      let at = slots.after(instant)
      while (at !== null && !isNew(at)) at = slots.after(at)
      return at
    },
    upTo: (instant) => {
      const own = slots.upTo(instant)
      if (instant < nextAt) return own
      return own !== null && own > nextAt && isNew(own) ? own : nextAt
    },
  }
}

/** The instant that the host's data name for the wall time of one that other data named, behind the cursor. */
export const renamed = (
  slots: Slots,
  cron: Pick<CronPattern, "clock" | "wild">,
  { cursor, nextAt, stored }: { readonly cursor: number; readonly nextAt: number; readonly stored: string },
): number | null => {
  if (cron.wild) return slots.after(Math.max(cursor, nextAt - 1))
  const wall = nextAt + storedOffset(stored)
  let at = slots.after(Math.max(cursor, nextAt - shiftMax))
  while (at !== null && at + offsetAt(cron.clock, at) < wall) at = slots.after(at)
  return at
}

// More than two offsets of a zone differ by.
const shiftMax = 26 * 3_600_000

const storedOffset = (stamp: string): number => Number(stamp.split(" ")[2] ?? 0) * 1000

const offsetAt = (zone: Zone, at: number): number => spanAt(zone, Math.floor(at / 1000)).offset * 1000
