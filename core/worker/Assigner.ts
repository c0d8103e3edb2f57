// Claims runs for the workers that have room and assigns each to one of them. Claimed is not begun: until a worker says
// that its handler is called, a loss costs no attempt.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { StoreError } from "../domain/Errors.ts"
import type { Job, JobBook } from "../domain/Job.ts"
import type { Outcome } from "../domain/Outcome.ts"
import type { Run } from "../domain/Run.ts"
import { supervise } from "../observe/Supervisor.ts"
import { type NodeStore, RunStore } from "../ports/Store.ts"
import type { Assign } from "../protocol/Message.ts"
import { canRun } from "../protocol/ServerState.ts"
import { keyOf } from "../protocol/Shapes.ts"
import { assignOf, type Inputs } from "./AssignOf.ts"
import { broadcastOf, shardOf } from "./Broadcast.ts"
import { makeElsewhere } from "./Elsewhere.ts"
import { groupsOf } from "./Offers.ts"
import { Chooser, type CompiledPlacement, fits } from "./Placement.ts"
import type { Seat } from "./Seat.ts"

/** What the assigner is given. */
export interface AssignerOptions {
  readonly book: JobBook
  readonly placements: ReadonlyMap<string, CompiledPlacement>
  /** Jobs that the engine's own process has handlers for. */
  readonly ownJobs: ReadonlySet<string>
  readonly seats: () => Iterable<Seat>
  readonly node: () => string
  readonly holdsLease: () => boolean
  /** Those of these queues that are not paused; `changed` is called when that is others. */
  readonly open: (queues: ReadonlyArray<string>) => ReadonlyArray<string>
  readonly pollMillis: number
  readonly inputsOf: (runs: ReadonlyArray<Run>) => Effect.Effect<(run: Run) => Inputs, StoreError>
  /** Runs that the node holds by the store's word, and nobody here knows of. */
  readonly unknownHeld: Effect.Effect<ReadonlyArray<Run>, StoreError>
  /** Gives a run to a worker. */
  readonly assign: (seat: Seat, run: Run, assign: Omit<Assign, "type" | "id">) => void
  /** Ends the attempt at a run that no worker was given. */
  readonly settle: (run: Run, outcome: Outcome) => void
  readonly onTrouble: (doing: string, error: StoreError) => void
}

/** Gives runs to workers. */
export interface Assigner {
  /** Something may be ready, or somebody has room: look now. */
  readonly wake: () => void
  /** Workers came, went or changed. */
  readonly changed: () => void
  /** Claims nothing more, and hands back what waits here. */
  readonly close: () => void
  /** Forgets these where they wait here: they were cancelled. */
  readonly drop: (runIds: ReadonlySet<string>) => void
  /** Forgets what waits here: it is not the node's any more. */
  readonly forget: () => void
  readonly isParked: (run: Run) => boolean
  /** Waits until no claim is under way, and of one that failed the store has said what it gave; that goes back. */
  readonly idle: Effect.Effect<void>
}

interface Claimed {
  readonly run: Run
  readonly inputs: Inputs
}

interface Group {
  readonly jobs: ReadonlyArray<string>
  readonly queues: ReadonlyArray<string>
  readonly members: ReadonlyArray<Seat>
}

/** What one claim brought, and whether there may be more. */
interface Brought {
  readonly count: number
  readonly more: boolean
}
const none: Brought = { count: 0, more: false }

// Runs in one claim; parts of broadcasts that wait here for their worker.
const claimMax = 200
const parkedMax = 1000
// How long a part waits before it is claimed again, whose worker is another node's: by then that one may have it.
const elsewhereMillis = 250

/** Starts it; it stops with the scope. */
export const makeAssigner = (
  options: AssignerOptions,
): Effect.Effect<Assigner, never, Scope.Scope | RunStore | NodeStore> =>
  Effect.gen(function* () {
    const { book, placements } = options
    const store = yield* RunStore
    const clock = yield* Clock.Clock
    const chooser = new Chooser()
    const elsewhere = yield* makeElsewhere(options.node)
    const wanted = Latch.makeUnsafe(true)
    const idle = Latch.makeUnsafe(true)
    const parked = new Map<string, Claimed & { readonly worker: string }>()
    const allQueues = [...new Set([...book.jobs.values()].map(({ queue }) => queue))]
    let groups: ReadonlyArray<Group> | undefined
    const monotonic = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    let closed = false
    let askedAt = monotonic()
    // Closed when a claim failed: it may have been done, and then the store knows runs of ours that we do not.
    const sure = Latch.makeUnsafe(true)

    const mayRun = (seat: Seat, job: Job): boolean => {
      if (!canRun(seat.state, job.name)) return false
      // Its handler here says at once which steps do the work.
      if (job.expands === true && options.ownJobs.has(job.name)) return false
      if (job.expands === true && !seat.state.capabilities.includes("flows")) return false
      const placement = placements.get(job.name)
      return placement === undefined || fits(placement, seat)
    }
    const join = (): ReadonlyArray<Group> => {
      const seats = new Map<string, Seat>()
      for (const seat of options.seats()) seats.set(seat.name, seat)
      const offers = [...seats.values()].map((seat) => ({
        name: seat.name,
        jobs: [...seat.state.jobs].filter((name) => {
          const job = book.jobs.get(name)
          return job !== undefined && mayRun(seat, job)
        }),
        queues: options.open(seat.hello.queues ?? seat.grant.queues ?? allQueues),
      }))
      return groupsOf(offers).map(({ jobs, queues, workers }) => ({
        jobs,
        queues,
        members: workers.flatMap((name) => seats.get(name) ?? []),
      }))
    }
    const roomIn = ({ members }: Group): number => {
      let room = 0
      for (const seat of members) room += seat.room
      return room
    }

    const give = (seat: Seat, { run, inputs }: Claimed): void => {
      const late = Math.max(0, Math.round(clock.currentTimeMillisUnsafe() - run.dueAt))
      const part = placements.get(run.job)?.broadcast === true ? shardOf(run) : null
      const timeoutMillis = book.jobs.get(run.job)?.timeoutMillis ?? null
      options.assign(seat, run, assignOf(run, inputs, part, timeoutMillis, late))
    }
    /** Chooses for each, and tells the candidates apart by what they are given on the way. */
    const place = (group: Group, claimed: ReadonlyArray<Claimed>): void => {
      const candidates = group.members.map((seat) => ({
        name: seat.name,
        labels: seat.labels,
        slots: seat.state.slots,
        inHand: seat.state.held.size,
        free: seat.room,
      }))
      const byName = new Map(group.members.map((seat, index) => [seat.name, { seat, index }]))
      for (const each of claimed) {
        const placement = placements.get(each.run.job)
        const shard = placement?.broadcast === true ? shardOf(each.run) : null
        if (placement?.broadcast === true && shard === null) {
          spread(group, each.run, placement)
          continue
        }
        const wished = shard === null ? undefined : byName.get(shard.shard.worker)
        if (wished !== undefined && wished.seat.room === 0 && parked.size < parkedMax) {
          parked.set(each.run.id, { ...each, worker: wished.seat.name })
          continue
        }
        const { job, queue } = each.run
        if (shard !== null && placement !== undefined && wished === undefined)
          if (elsewhere.has(shard.shard.worker, job, queue, placement)) {
            options.settle(each.run, { kind: "snoozed", delayMillis: elsewhereMillis })
            continue
          }
        const name =
          wished !== undefined && wished.seat.room > 0
            ? wished.seat.name
            : chooser.choose(placement ?? null, each.run, candidates)
        const found = name === null ? undefined : byName.get(name)
        const candidate = found === undefined ? undefined : candidates[found.index]
        // The room that it was claimed for is gone meanwhile.
        if (found === undefined || candidate === undefined) {
          options.settle(each.run, { kind: "released" })
          continue
        }
        give(found.seat, each)
        candidate.inHand = found.seat.state.held.size
        candidate.free = found.seat.room
      }
    }
    /** One part for each worker that fits and is there, on whichever node. */
    const spread = (group: Group, run: Run, placement: CompiledPlacement): void => {
      const job = book.jobs.get(run.job)
      const there = group.members.filter(({ state }) => state.phase === "open" && !state.draining)
      const others = elsewhere.fitting(run.job, run.queue, placement)
      const names = [...new Set([...there.map(({ name }) => name), ...others])].sort()
      if (job === undefined || names.length === 0) return options.settle(run, { kind: "released" })
      options.settle(run, broadcastOf(run, job, names))
    }
    /** What waited for its worker: that has room now, or is gone, and then anybody will do. */
    const unpark = Effect.fnUntraced(function* (group: Group) {
      const ready = [...parked.values()].filter(({ run, worker }) => {
        if (!group.jobs.includes(run.job) || !group.queues.includes(run.queue)) return false
        const seat = group.members.find(({ name }) => name === worker)
        return (seat?.room ?? roomIn(group)) > 0
      })
      if (ready.length === 0) return
      // They may have waited for long, and a tool may have cancelled one: none of these is to begin.
      const rows = yield* store.get(ready.map(({ run }) => run.id))
      const held = new Set(
        rows.filter(({ state }) => state === "running").map(({ id, token }) => keyOf({ run: id, token })),
      )
      const still = ready.filter(({ run }) => parked.get(run.id)?.run === run)
      for (const { run } of still) parked.delete(run.id)
      place(
        group,
        still.filter(({ run }) => held.has(keyOf({ run: run.id, token: run.token }))),
      )
    })

    /** A part whose worker is gone, and nobody else here may have it: some other node's workers may. */
    const giveBack = (run: Run): void => {
      parked.delete(run.id)
      options.settle(run, { kind: "released" })
    }

    const claimFor = Effect.fnUntraced(function* (group: Group) {
      if (parked.size > 0) yield* unpark(group)
      const limit = Math.min(roomIn(group), claimMax)
      if (limit === 0 || closed || !options.holdsLease()) return none
      const node = options.node()
      askedAt = monotonic()
      const runs = yield* store.claim({
        node,
        queues: group.queues,
        jobs: group.jobs,
        limit,
        acknowledged: false,
      })
      if (runs.length === 0) return none
      const inputs = yield* Effect.retry(options.inputsOf(runs), { times: 5 })
      if (runs.some(({ job }) => placements.get(job)?.broadcast === true)) yield* elsewhere.look
      // The node began to stop, or lost its lease, while these were on their way: they go back untouched.
      if (closed || options.node() !== node) for (const run of runs) options.settle(run, { kind: "released" })
      else
        place(
          group,
          runs.map((run) => ({ run, inputs: inputs(run) })),
        )
      return { count: runs.length, more: runs.length === limit }
    })
    const round = Effect.gen(function* () {
      if ((closed && sure.isOpen()) || !options.holdsLease()) return false
      if (!sure.isOpen()) {
        for (const run of yield* options.unknownHeld) options.settle(run, { kind: "released" })
        sure.openUnsafe()
      }
      groups ??= join()
      for (const { run } of parked.values()) if (!mayTake(groups, run)) giveBack(run)
      const asked = groups
      const given = new Array<Group>()
      let more = false
      for (const group of asked) {
        const claimed = yield* claimFor(group)
        if (claimed.count > 0) given.push(group)
        more ||= claimed.more
      }
      // Whoever was first is last, so that a backlog of one does not starve the others of the workers they share.
      const [first] = given
      if (first !== undefined && groups === asked) groups = [...asked.filter((each) => each !== first), first]
      // A claim also ends what is over its deadline or too late to start: without one nobody would, while no worker has room.
      if (monotonic() - askedAt >= options.pollMillis) {
        askedAt = monotonic()
        yield* store.promote(claimMax)
      }
      return more
    })
    const once = Effect.ensuring(
      Effect.andThen(
        Effect.sync(() => idle.closeUnsafe()),
        Effect.tapError(round, () => Effect.sync(() => sure.closeUnsafe())),
      ),
      Effect.sync(() => idle.openUnsafe()),
    )
    const loop = Effect.gen(function* () {
      while (true) {
        wanted.closeUnsafe()
        const more = yield* Effect.catch(once, (error) => {
          options.onTrouble("claim runs for workers", error)
          return Effect.as(Effect.sleep(Math.min(options.pollMillis, 250)), false)
        })
        if (!more) yield* Effect.raceFirst(wanted.await, Effect.sleep(options.pollMillis))
        // The first outcome of a batch wakes this loop: when the others have made room too, one claim fills it.
        yield* Effect.yieldNow
      }
    })
    yield* supervise("assigner", loop)

    return {
      wake: () => void wanted.openUnsafe(),
      changed: () => {
        groups = undefined
        wanted.openUnsafe()
      },
      close: () => {
        closed = true
        for (const { run } of parked.values()) giveBack(run)
        wanted.openUnsafe()
      },
      drop: (runIds) => {
        for (const id of runIds) parked.delete(id)
      },
      forget: () => {
        parked.clear()
        sure.openUnsafe()
      },
      isParked: ({ id, token }) => parked.get(id)?.run.token === token,
      idle: Effect.andThen(idle.await, sure.await),
    }
  })

const mayTake = (groups: ReadonlyArray<Group>, { job, queue }: Run): boolean =>
  groups.some(({ jobs, queues }) => jobs.includes(job) && queues.includes(queue))
