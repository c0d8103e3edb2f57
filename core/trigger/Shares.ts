// Which node plans which schedule when many are due at once: each one takes its share first, so that nodes do not all do
// the same work and all but one of them for nothing. Advisory: nothing is wrong when two nodes think otherwise, since the
// store lets one of them be first (`fire`). Pure.

/** The live nodes as a ring: whose share a schedule is. */
export interface Ring {
  readonly ownerOf: (scheduleId: string) => string | undefined
}

// So many that the largest share of ten nodes is a fifth above their mean; a ring is made anew only when nodes come or go.
const shardCount = 1024

/**
 * The ring of these nodes. Each shard belongs to the node with the highest hash of both (rendezvous hashing): every node
 * comes to the same answer, a node that goes leaves its shards to all others alike, and one that comes takes from all.
 */
export const ringOf = (nodes: ReadonlyArray<string>): Ring => {
  const owners = Array.from({ length: shardCount }, (_, shard) => {
    let owner: string | undefined
    let highest = -1
    for (const node of nodes) {
      const hash = mixed(hashOf(node) ^ mixed(shard))
      if (hash < highest || (hash === highest && node > (owner ?? ""))) continue
      owner = node
      highest = hash
    }
    return owner
  })
  return { ownerOf: (scheduleId) => owners[mixed(hashOf(scheduleId)) % shardCount] }
}

// FNV-1a over UTF-16 units, and the last step of MurmurHash3, without which names that differ in their end lie together.
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let place = 0; place < text.length; place++)
    hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193)
  return hash >>> 0
}

const mixed = (value: number): number => {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** How long a node leaves to others what is theirs, in milliseconds. */
export interface CourtesyOptions {
  /** As long as their work goes on; what one has not moved on with for so long is anybody's. */
  readonly graceMillis: number
  /** After that, how long nothing is left to that one: until a node that died has no lease any more. */
  readonly distrustMillis: number
}

/** What of the due schedules to plan now. */
export interface Split<S> {
  readonly taken: ReadonlyArray<S>
  /** How many were left to others. */
  readonly left: number
}

/** What is known of another node. */
interface Other {
  /** The first schedule that was left to it, which goes when it works: all begin with the oldest. */
  readonly first: string
  readonly since: number
  readonly distrustUntil: number
}

/**
 * Splits what is due, look by look. `ownerOf` answers whose a schedule is, `undefined` for one that is anybody's; `at` is
 * a monotonic time in milliseconds.
 */
export const makeCourtesy = ({ graceMillis, distrustMillis }: CourtesyOptions) => {
  let others = new Map<string, Other>()

  return <S extends { readonly id: string; readonly version: number }>(
    due: ReadonlyArray<S>,
    node: string,
    ownerOf: (schedule: S) => string | undefined,
    at: number,
  ): Split<S> => {
    const seen = new Map<string, Other>()
    const lookAt = (owner: string, { id, version }: S): Other => {
      const known = others.get(owner)
      const first = `${version} ${id}`
      const since = known?.first === first ? known.since : at
      const isStuck = at - since >= graceMillis
      return { first, since, distrustUntil: isStuck ? at + distrustMillis : (known?.distrustUntil ?? 0) }
    }
    const taken = due.filter((schedule) => {
      const owner = ownerOf(schedule)
      if (owner === undefined || owner === node) return true
      const other = seen.get(owner) ?? lookAt(owner, schedule)
      seen.set(owner, other)
      return other.distrustUntil > at
    })
    // Of whom nothing is left, only the distrust is kept: it works again, or is gone.
    for (const [owner, { distrustUntil }] of others)
      if (!seen.has(owner) && distrustUntil > at) seen.set(owner, { first: "", since: at, distrustUntil })
    others = seen
    return { taken, left: due.length - taken.length }
  }
}
