// Workers that speak the protocol, as the two ends of their connections and the store tell it. W1: no attempt is begun
// twice. W2: what a worker is told became of its outcome is so. W3: what a lost worker had goes back in time, and an
// attempt that was begun is used. W4: what a node carries for workers is in somebody's hands, and all hands are empty in
// the end. W5: a run goes only to who may take it. And I10 for them: nothing waits while a worker that may take it is free.
import type { Settled, Settlement } from "../../../core/domain/Outcome.ts"
import { isFinal, type Run } from "../../../core/domain/Run.ts"
import type { Claim } from "../../../core/ports/StoreDriver.ts"
import type { Ack, Assign, Ended, Welcome } from "../../../core/protocol/Message.ts"
import { keyOf } from "../../../core/protocol/Shapes.ts"
import type { Member } from "../Crew.ts"
import type { Seat } from "../Fleet.ts"
import type { Call } from "../Ground.ts"
import { book, mayTake, nobodysJob } from "../Handlers.ts"
import type { Line } from "../Line.ts"
import type { Check, Scene } from "./Check.ts"

/** Who was given an attempt last, over which connection. */
interface Carrier {
  readonly token: number
  readonly line: Line
}

// From the end of a connection, and from the last sign of life, until the runs are others': with what a calm store takes.
const closedMillis = 1000 + 100
const silentMillis = 16_000 + 100
// Two heartbeats, as one may be lost.
const beatMillis = 11_000
// A node that does not know whether it has adopted an attempt gives its worker so long to come again.
const doubtMillis = 15_000
// Nothing due waits longer while somebody has room, plus a poll.
const dueMillis = 2000

/** The checks. */
export const workerChecks = ({ watch, world, swarm, ground, seats, posts }: Scene): Check => {
  const { table } = ground
  /** Claimed for workers, by run: the token. */
  const claimed = new Map<string, number>()
  const changedAt = new Map<string, number>()
  const carriers = new Map<string, Carrier>()
  const given = new Set<string>()
  const begun = new Set<string>()
  /** What a worker said of an attempt, and what the store took under its token: the first of each. */
  const said = new Map<string, Ended>()
  const taken = new Map<string, Settlement>()
  const adopted = new Set<string>()
  const knownAt = new Map<string, number>()
  /** When a worker last had no room at a node, or was not well. */
  const fullAt = new Map<string, number>()
  const drainsAt = new Map<Seat, number>()

  const key = ({ id, token }: Pick<Run, "id" | "token">): string => keyOf({ run: id, token })
  const isClaimed = ({ id, token }: Run): boolean => claimed.get(id) === token
  const memberOf = (name: string): Member | undefined =>
    posts().find(({ member }) => member.who.worker === name)?.member
  const violated = (invariant: string, run: Pick<Run, "id" | "job">, what: string): void =>
    watch.violated(invariant, `${run.job} ${run.id} ${what}`)
  const jobOf = (id: string): string => table.entries.get(id)?.run.job ?? "?"

  /** Why a worker may not be given this; `null`: it may. */
  const whyNot = (member: Member, job: string, queue: string): string | null => {
    const { who, queues, boast } = member
    if (!who.jobs.includes(job) && !boast.jobs.includes(job)) return "has no handler for it"
    if (queues?.includes(queue) === false || who.queues?.includes(queue) === false)
      return `takes nothing from queue "${queue}"`
    if (book.jobs.get(job)?.expands === true && !who.capabilities.includes("flows")) return "knows no flows"
    return mayTake(job, who.worker, who.labels ?? {}) ? null : "is not where it belongs"
  }

  const assigned = (line: Line, { run, token, job, queue }: Assign): void => {
    const seat = seats().find(({ name }) => name === line.node)
    const attempt = keyOf({ run, token })
    const member = memberOf(line.worker)
    const why = member === undefined ? "is nobody" : whyNot(member, job, queue)
    if (why !== null) violated("W5", { id: run, job }, `was given to ${line.worker}, which ${why}`)
    const since = seat?.isDraining === true ? (drainsAt.get(seat) ?? world.elapsed) : world.elapsed
    if (!given.has(attempt) && since < world.elapsed)
      violated("I13", { id: run, job }, `was given to ${line.worker} by ${line.node}, which drains`)
    given.add(attempt)
    carriers.set(run, { token, line })
    if (seat?.desk != null && member !== undefined) noteFull(seat, member)
  }

  const welcomed = (line: Line, { inHand, resumed }: Welcome): void => {
    for (const { run, token, verdict } of inHand) {
      if (verdict !== "keep") continue
      carriers.set(run, { token, line })
      if (!resumed) watch.counters.adopted++
    }
  }

  const name = (seat: Seat, worker: string): string => `${seat.name} ${worker}`
  const full = (which: string, until: number): void =>
    void fullAt.set(which, Math.max(until, fullAt.get(which) ?? 0))
  /** It does not read what it was sent, and is sent nothing more. */
  const isSlow = ({ client }: Line): boolean => client.buffered() > swarm.bufferedBytesHigh
  /** It is asked again after its next heartbeat, where that comes. */
  const refused = (line: Line, { reason }: Ack["acks"][number]): void => {
    watch.counters.refused++
    if (reason === "full") full(`${line.node} ${line.worker}`, world.elapsed + beatMillis)
  }
  /** Notes when a worker has no room; more than it said first is not counted on. */
  const noteFull = (seat: Seat, { who, boast }: Member): void => {
    const view = seat.desk?.list().find((each) => each.name === who.worker)
    const capacity = who.slots + (who.prefetch ?? 0)
    const isFree =
      view?.status === "alive" &&
      view.inHand < Math.min(capacity, view.slots + view.prefetch) &&
      boast.slots === 0
    const line = posts().find(({ member }) => member.who === who)?.line
    if (!isFree || (line != null && isSlow(line))) full(name(seat, who.worker), world.elapsed)
  }

  const checkReleased = ({ changes }: Call): void => {
    for (const { before, after } of changes) {
      if (before?.state !== "running" || after.state !== "ready" || !isClaimed(before)) continue
      const own = said.get(key(before))
      const isHandedBack = own?.type === "result" && own.outcome.kind === "released"
      if (before.startAcknowledged && !isHandedBack)
        violated("W3", after, `was begun under ${before.token}, and handed back as if it were not`)
    }
  }

  const checkBroadcast = ({ args }: Call): void => {
    for (const each of args[0] as ReadonlyArray<Settlement>) {
      const job = jobOf(each.id)
      if (each.kind !== "expanded" || book.jobs.get(job)?.placement?.broadcast !== true) continue
      if (each.expansion.kind !== "map") return violated("W5", { id: each.id, job }, "is no list of parts")
      const workers = each.expansion.items.map((item) => {
        const { worker } = (JSON.parse(item ?? "") as { "uhrwerk.shard": { worker: string } })[
          "uhrwerk.shard"
        ]
        return worker
      })
      if (workers.length === 0 || new Set(workers).size !== workers.length)
        violated("W5", { id: each.id, job }, `goes to ${workers.join()}`)
      for (const worker of workers) {
        const labels = memberOf(worker)?.who.labels ?? {}
        if (!mayTake(job, worker, labels)) violated("W5", { id: each.id, job }, `has a part for ${worker}`)
      }
    }
  }

  const settled = (call: Call, answer: ReadonlyArray<Settled>): void => {
    for (const [place, each] of (call.args[0] as ReadonlyArray<Settlement>).entries())
      if (answer[place]?.result === "settled" && !taken.has(key(each))) taken.set(key(each), each)
    checkReleased(call)
    checkBroadcast(call)
  }

  /** Nodes that are well, and since when each is held to anything, as in liveness.ts. */
  const well = (): ReadonlyArray<{ readonly seat: Seat; readonly node: string; readonly since: number }> =>
    seats().flatMap((seat) => {
      const { engine, desk, lane, link, underWay } = seat
      if (engine === null || desk === null || lane.isFrozen || link.cut !== null || underWay > 0) return []
      const node = engine.node()
      const isAlive = ground.driver.nodes() as ReadonlyArray<{ id: string; expiresAt: number }>
      if (!isAlive.some(({ id, expiresAt }) => id === node && expiresAt > ground.now())) return []
      return [
        {
          seat,
          node,
          since: Math.max(seat.calmSince, heldSince.get(node) ?? 0, steppedAt) + swarm.leaseMillis / 4,
        },
      ]
    })
  /** When a node joined, and when the store's clock was last stepped. */
  const heldSince = new Map<string, number>()
  let steppedAt = 0
  let skew = ground.lane.skew

  const checkCarried = (run: Run, seat: Seat, since: number, hands: ReadonlySet<string>): void => {
    const from = Math.max(since, changedAt.get(run.id) ?? 0)
    const carrier = carriers.get(run.id)
    if (hands.has(key(run))) knownAt.set(key(run), world.elapsed)
    if (carrier?.token === run.token && carrier.line.node === seat.name) {
      const { closedAt, heardAt } = carrier.line.server
      const millis = world.elapsed - Math.max(from, closedAt === -1 ? heardAt : closedAt)
      if (millis > (closedAt === -1 ? silentMillis : closedMillis))
        violated(
          "W3",
          run,
          `is ${carrier.line.worker}'s still, ${millis} ms after its ${closedAt === -1 ? "last sign of life" : "connection ended"}`,
        )
    }
    // The part of a broadcast may wait at its node for the worker that it is for.
    if (book.jobs.get(run.job)?.placement?.broadcast === true) return
    const millis = world.elapsed - Math.max(from, knownAt.get(key(run)) ?? 0)
    const mostMillis = adopted.has(key(run)) ? doubtMillis : dueMillis
    if (millis > mostMillis + swarm.pollMillis)
      violated("W4", run, `is carried by ${seat.name} for workers, and none has it for ${millis} ms`)
  }

  const checkWaiting = (run: Run, seat: Seat, since: number): void => {
    if (run.state === "running" || run.state === "blocked") return
    const wanted = Math.min(run.dueAt, run.expiresAt ?? run.dueAt)
    if (wanted > ground.now()) return
    const from = Math.max(
      since,
      changedAt.get(run.id) ?? 0,
      world.elapsed - (ground.now() - wanted),
      steppedAt,
    )
    for (const { unable, name: worker } of seat.desk?.list() ?? []) {
      const member = memberOf(worker)
      const isItsOwn = ownFlows && book.jobs.get(run.job)?.expands === true
      if (member === undefined || isItsOwn || unable.includes(run.job)) continue
      if (whyNot(member, run.job, run.queue) !== null) continue
      const millis = world.elapsed - Math.max(from, fullAt.get(name(seat, worker)) ?? 0)
      if (millis > dueMillis + swarm.pollMillis)
        violated(
          "I10",
          run,
          `is ${run.state} and wanted for ${millis} ms, and ${worker} at ${seat.name} has room`,
        )
    }
  }
  const ownFlows = swarm.ownJobs === "all"

  return {
    saw: (call, answer) => {
      const { operation, args, changes } = call
      if (operation === "join") heldSince.set((args[0] as { id: string }).id, world.elapsed)
      if (operation === "claim" && !(args[0] as Claim).acknowledged)
        for (const { after } of changes) if (after.state === "running") claimed.set(after.id, after.token)
      for (const { after } of changes) {
        if (isFinal(after.state)) changedAt.delete(after.id)
        else changedAt.set(after.id, world.elapsed)
        if (after.job === nobodysJob && after.state === "running")
          violated("W5", after, "was claimed, and nobody may take it")
      }
      if (operation === "adopt") for (const { after } of changes) adopted.add(key(after))
      if (operation === "settle" && answer !== undefined) settled(call, answer as ReadonlyArray<Settled>)
    },
    drains: (seat) => {
      drainsAt.set(seat, world.elapsed)
    },
    frame: (line, direction, frame) => {
      if (direction === "down") {
        if (isSlow(line)) full(`${line.node} ${line.worker}`, world.elapsed)
        if (frame.startsWith('{"type":"assign"')) assigned(line, JSON.parse(frame) as Assign)
        else if (frame.startsWith('{"type":"welcome"')) welcomed(line, JSON.parse(frame) as Welcome)
      } else if (frame.startsWith('{"type":"result"') || frame.startsWith('{"type":"failure"')) {
        const ended = JSON.parse(frame) as Ended
        if (!said.has(keyOf(ended))) said.set(keyOf(ended), ended)
      } else if (frame.startsWith('{"type":"ack"'))
        for (const each of (JSON.parse(frame) as Ack).acks) if (each.result === "refused") refused(line, each)
    },
    begins: (worker, { run, token, job, queue }) => {
      watch.counters.begun++
      watch.tell(worker.name, () => `begins ${job} ${run} token ${token}`)
      const attempt = keyOf({ run, token })
      if (begun.has(attempt))
        violated("W1", { id: run, job }, `is begun twice under ${token}, now by ${worker.name}`)
      begun.add(attempt)
      const { who } = worker.member
      if (!who.jobs.includes(job))
        violated("W5", { id: run, job }, `is begun by ${worker.name} from ${queue}`)
      if (worker.running > who.slots)
        violated(
          "I11",
          { id: run, job },
          `is handler ${worker.running} of ${worker.name} with ${who.slots} slots`,
        )
    },
    ends: (worker, { run, token }, { kind }) =>
      watch.tell(worker.name, () => `ends ${jobOf(run)} ${run} token ${token} ${kind}`),
    acknowledged: (worker, { run, token }, result, isVerdict) => {
      const attempt = keyOf({ run, token })
      const row = table.entries.get(run)?.run
      const stored = taken.get(attempt)
      const own = said.get(attempt)
      watch.tell(worker.name, () => `hears that ${jobOf(run)} ${run} token ${token} is ${result}`)
      if (row === undefined) return
      if (result === "settled" && stored === undefined)
        violated("W2", row, `is told to be settled under ${token}, and is not`)
      // The server may have decided without the worker, by its limit of time or as it was lost.
      const isDecided = stored?.kind === "failed" && stored.error.kind !== "error"
      const kind = own?.type === "failure" ? "failed" : own?.outcome.kind
      if (
        result === "settled" &&
        stored !== undefined &&
        own !== undefined &&
        !isDecided &&
        stored.kind !== kind
      )
        violated("W2", row, `is told to be settled as ${kind} under ${token}, and is ${stored.kind}`)
      const isTaken = stored?.kind === "succeeded" && kind === "succeeded" && row.token === token
      // A server that is asked again much later, as its acknowledgement was lost, has forgotten, and says it is over.
      if (result === "stale" && !isVerdict && isTaken && watch.counters.framesLost === 0)
        violated("W2", row, `is told to be stale under ${token}, and its outcome is stored`)
    },
    everySecond: () => {
      if (ground.lane.skew !== skew) steppedAt = world.elapsed
      skew = ground.lane.skew
      for (const seat of seats()) for (const { member } of posts()) noteFull(seat, member)
      for (const { seat, node, since } of well()) {
        const hands = new Set(
          (seat.desk?.list() ?? []).flatMap((view) => (seat.desk?.inHandOf(view.name) ?? []).map(keyOf)),
        )
        for (const id of changedAt.keys()) {
          const run = table.entries.get(id)?.run
          if (run === undefined) continue
          if (run.state === "running" && run.node === node && isClaimed(run))
            checkCarried(run, seat, since, hands)
          else checkWaiting(run, seat, since)
        }
      }
    },
    end: () => {
      for (const { desk, name: node } of seats())
        for (const { name: worker, inHand, slots, status } of desk?.list() ?? []) {
          const member = memberOf(worker)
          if (inHand > 0)
            watch.violated("W4", `${node} has ${inHand} attempts of ${worker} in its books in the end`)
          if (status === "alive" && member?.boast.slots === 0 && slots !== member.who.slots)
            watch.violated(
              "W4",
              `${worker} has ${slots} of its ${member.who.slots} slots at ${node} in the end`,
            )
        }
      for (const { process, member } of posts())
        if (process?.isIdle === false)
          watch.violated(
            "W4",
            `${member.who.worker} has ${process.state.hand.size} attempts in hand and ${process.running} handlers in the end`,
          )
    },
  }
}
