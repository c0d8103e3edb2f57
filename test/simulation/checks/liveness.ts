// I10, strictly, in the storm as well: nothing that is due waits while a node that is well has a free slot; what a dead
// node carried is taken back; and what a node carries by the store's books it knows of. A node is held to it from the
// moment on when nothing disturbed it any more (`Seat.calmSince`), whatever happens to others.
import { isFinal, type Run } from "../../../core/domain/Run.ts"
import type { EngineService } from "../../../core/engine/Engine.ts"
import type { Claim } from "../../../core/ports/StoreDriver.ts"
import { book, ownJobsOf } from "../Handlers.ts"
import type { Seat } from "../Fleet.ts"
import type { Check, Scene } from "./Check.ts"

/** What the store's books say of one node id. */
interface Books {
  /** Until when its lease holds, by the store's clock; 0: it has none. */
  until: number
  /** Since when it does, without a gap, and since when it does not, on the world's clock. */
  heldSince: number
  lostSince: number
  running: number
  /** Handlers of runs that were cancelled here: each may keep its slot until this time on the world's clock. */
  deaf: Array<number>
  /** When its slots were last all taken. */
  fullAt: number
}

/** A node that is well: it holds its lease, is not about to stop, and its calls are answered at once. */
interface Well {
  readonly seat: Seat
  readonly node: string
  readonly since: number
}

// The promise of I10: nothing due waits longer than this while a slot is free, plus a poll, which is how long a hint
// that was lost takes to be made good.
const dueMillis = 2000
// A settlement that failed is tried again within two seconds; a second for those before it.
const settleMillis = 3000
// A handler that does not listen keeps its slot for five seconds after it was told; until then it has a poll and a
// second's grace.
const deafMillis = 6000

/** The checks. */
export const livenessChecks = ({ watch, world, swarm, ground, seats }: Scene): Check => {
  const { leaseMillis, pollMillis, slots } = swarm
  const reclaimMillis = Math.max(leaseMillis / 4, pollMillis) + 1000
  const books = new Map<string, Books>()
  /** Runs that have not ended, and when each last changed. */
  const open = new Map<string, { run: Run; changedAt: number }>()
  /** The token under which a run was last given to an executor, and when; and when its end was reported. */
  const assigned = new Map<string, { token: number; seat: Seat; at: number; reportedAt: number | null }>()
  /** The token under which a run was claimed for workers: no slot of the node is taken, and workers.ts looks after it. */
  const forWorkers = new Map<string, number>()
  const isForWorkers = ({ id, token }: Run): boolean => forWorkers.get(id) === token
  const own = ownJobsOf(swarm)
  let skew = ground.lane.skew
  let steppedAt = 0

  const violated = (run: Run, what: string): void => watch.violated("I10", `${run.job} ${run.id} ${what}`)
  const booksOf = (node: string): Books => {
    const known = books.get(node)
    if (known !== undefined) return known
    const made: Books = {
      until: 0,
      heldSince: world.elapsed,
      lostSince: world.elapsed,
      running: 0,
      deaf: [],
      fullAt: world.elapsed,
    }
    books.set(node, made)
    return made
  }

  /** Notes when a node was full: as it stood until now, before anything changes. */
  const noteFull = (each: Books): void => {
    if (each.running + each.deaf.length >= slots) each.fullAt = world.elapsed
    each.deaf = each.deaf.filter((until) => until > world.elapsed)
  }

  const changed = (before: Run | null, after: Run): void => {
    const isOwn = !isForWorkers(after)
    const left = isOwn && before?.state === "running" && before.node !== null ? booksOf(before.node) : null
    if (left !== null && (after.state !== "running" || after.node !== before?.node)) {
      noteFull(left)
      left.running--
      if (after.state === "cancelled") left.deaf.push(world.elapsed + pollMillis + deafMillis)
    }
    if (isOwn && after.state === "running" && after.node !== null && before?.state !== "running") {
      const taken = booksOf(after.node)
      noteFull(taken)
      taken.running++
      noteFull(taken)
    }
    if (isFinal(after.state)) {
      open.delete(after.id)
      assigned.delete(after.id)
    } else open.set(after.id, { run: after, changedAt: world.elapsed })
  }

  const renewed = (node: string, now: number): void => {
    const each = booksOf(node)
    if (each.until <= now) each.heldSince = world.elapsed
    each.until = now + leaseMillis
  }

  /** Since when, on the world's clock, an instant of the store's has passed. */
  const passedSince = (instant: number): number =>
    Math.max(world.elapsed - (ground.now() - instant), steppedAt, 0)

  const isWell = (seat: Seat): seat is Seat & { readonly engine: EngineService } =>
    seat.engine !== null && seat.link.cut === null && seat.underWay === 0 && !seat.lane.isFrozen

  /** All that are well, each with the time from which on it is held to anything. */
  const wellNodes = (): ReadonlyArray<Well> =>
    seats().flatMap((seat) => {
      if (!isWell(seat)) return []
      const node = seat.engine.node()
      const { until, heldSince } = booksOf(node)
      if (until <= ground.now()) return []
      // It believes in its lease again with the next renewal.
      return [{ seat, node, since: Math.max(heldSince, steppedAt, seat.calmSince) + leaseMillis / 4 }]
    })

  /** From when on a run should be taken, or ended, by whoever looks; `null`: not now. */
  const wantedSince = (run: Run, changedAt: number): number | null => {
    const isWaiting = run.state === "ready" || run.state === "scheduled" || run.state === "retrying"
    const flow = run.state === "blocked" ? ground.table.entries.get(run.id)?.flow : undefined
    const instant = isWaiting
      ? Math.min(run.dueAt, run.expiresAt ?? run.dueAt)
      : (flow?.deadlineAt ?? Number.POSITIVE_INFINITY)
    return instant <= ground.now() ? Math.max(changedAt, passedSince(instant)) : null
  }

  const checkWaiting = (run: Run, changedAt: number, well: ReadonlyArray<Well>): void => {
    const wanted = wantedSince(run, changedAt)
    // What is not a matter of slots is anybody's.
    const isAnybodys = run.state === "blocked" || own.has(run.job)
    if (wanted === null || !isAnybodys) return
    for (const { seat, node, since } of well) {
      const { fullAt } = booksOf(node)
      const millis = world.elapsed - Math.max(wanted, since, fullAt)
      if (millis > dueMillis + pollMillis)
        violated(run, `is ${run.state} and wanted for ${millis} ms, and ${seat.name} has a free slot`)
    }
  }

  const checkRunning = (run: Run, changedAt: number, well: ReadonlyArray<Well>): void => {
    const node = run.node ?? ""
    const { until } = booksOf(node)
    if (until <= ground.now()) checkLeftBehind(run, changedAt, well)
    const carrier = well.find((each) => each.node === node)
    if (carrier === undefined || isForWorkers(run)) return
    const { seat, since } = carrier
    const known = assigned.get(run.id)
    if (known === undefined || known.token !== run.token || known.seat !== seat) {
      const millis = world.elapsed - Math.max(changedAt, since)
      if (millis > dueMillis + pollMillis)
        violated(run, `is carried by ${seat.name}, which has not known of it for ${millis} ms`)
      return
    }
    const timeoutMillis = book.jobs.get(run.job)?.timeoutMillis ?? null
    const endedAt = known.reportedAt ?? (timeoutMillis === null ? null : known.at + timeoutMillis)
    if (endedAt === null) return
    const millis = world.elapsed - Math.max(endedAt, since)
    if (millis > settleMillis) violated(run, `ended on ${seat.name} ${millis} ms ago and is not settled`)
  }

  /** Its node is dead by the store's clock. */
  const checkLeftBehind = (run: Run, changedAt: number, well: ReadonlyArray<Well>): void => {
    const { until, lostSince } = booksOf(run.node ?? "")
    const dead = Math.max(changedAt, until === 0 ? lostSince : passedSince(until))
    for (const { seat, node, since } of well) {
      if (node === run.node) continue
      const millis = world.elapsed - Math.max(dead, since)
      if (millis > reclaimMillis)
        violated(run, `is left behind by ${run.node} for ${millis} ms, and ${seat.name} is well`)
    }
  }

  return {
    saw: ({ operation, args, now, changes }, answer) => {
      if (operation === "claim" && !(args[0] as Claim).acknowledged)
        for (const { after } of changes) if (after.state === "running") forWorkers.set(after.id, after.token)
      for (const { before, after } of changes) changed(before, after)
      if (operation === "join") renewed((args[0] as { readonly id: string }).id, now)
      if (operation === "renew" && answer === true) renewed(args[0] as string, now)
      if (operation === "leave")
        Object.assign(booksOf(args[0] as string), { until: 0, lostSince: world.elapsed })
    },
    assigned: (seat, { id, token }) => {
      assigned.set(id, { token, seat, at: world.elapsed, reportedAt: null })
    },
    reported: (seat, { id, token }) => {
      const known = assigned.get(id)
      if (known?.token === token && known.seat === seat) known.reportedAt ??= world.elapsed
    },
    everySecond: () => {
      if (ground.lane.skew !== skew) steppedAt = world.elapsed
      skew = ground.lane.skew
      const well = wellNodes()
      if (well.length === 0) return
      for (const { node } of well) noteFull(booksOf(node))
      for (const { run, changedAt } of open.values()) {
        if (run.state === "running") checkRunning(run, changedAt, well)
        else checkWaiting(run, changedAt, well)
      }
    },
  }
}
