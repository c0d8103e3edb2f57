// Runs, change by change: I3 one live lease, I4 only the current token, I5 attempts in their limit, I7 final is final, I8 dead
// and letter are one, I9 never early, I11 keys and slots, I12 cancel wins. Written anew from the architecture page, not
// with the transitions of the core.
import { isFinal, type Run, type RunState } from "../../../core/domain/Run.ts"
import type { Settled, Settlement } from "../../../core/domain/Outcome.ts"
import type { Claim } from "../../../core/ports/StoreDriver.ts"
import type { StoreOperation } from "../../../core/ports/Store.ts"
import type { Call, Change } from "../Ground.ts"
import { outputOf } from "../Handlers.ts"
import type { Check, Scene } from "./Check.ts"

type Way = `${RunState | "none"} ${RunState}`

// What may follow in a step of a flow follows from whatever ended the step before it.
const moving: ReadonlyArray<StoreOperation> = [
  "settle",
  "cancel",
  "claim",
  "promote",
  "reclaim",
  "markStep",
  "rerunFlow",
]
const makes: ReadonlyArray<StoreOperation> = ["enqueue", "fire", "backfill", "replay", ...moving]
const calledOff: ReadonlyArray<StoreOperation> = [...moving, "fire"]

/** Every change that the architecture page allows, and the operations that may bring it. */
const ways: Partial<Record<Way, ReadonlyArray<StoreOperation>>> = {
  "none blocked": [...makes],
  "none scheduled": makes,
  "none ready": makes,
  "blocked blocked": calledOff,
  "blocked scheduled": moving,
  "blocked ready": moving,
  "blocked skipped": calledOff,
  "blocked succeeded": calledOff,
  "blocked retrying": calledOff,
  "blocked dead": calledOff,
  "blocked cancelled": calledOff,
  "scheduled ready": ["claim", "promote"],
  "scheduled expired": ["claim", "promote"],
  "scheduled cancelled": calledOff,
  "retrying ready": ["claim", "promote"],
  "retrying expired": ["claim", "promote"],
  "retrying cancelled": calledOff,
  "ready running": ["claim"],
  "ready expired": ["claim", "promote"],
  "ready cancelled": calledOff,
  "running running": ["started", "adopt"],
  "running succeeded": ["settle"],
  "running skipped": ["settle"],
  "running blocked": ["settle"],
  "running scheduled": ["settle"],
  "running ready": ["settle", "reclaim"],
  "running retrying": ["settle", "reclaim"],
  "running dead": ["settle", "reclaim"],
  "running cancelled": calledOff,
}

// How long work may take at the end, with all its retries and steps.
const overdueMillis = 45_000

/** The checks. */
export const runChecks = ({ watch, ground, swarm, seats }: Scene): Check => {
  const { table } = ground
  const violated = (invariant: string, run: Run, what: string): void =>
    watch.violated(invariant, `${run.job} ${run.id} ${what}`)
  /** Leases by node, as the store was asked to keep them. */
  const leases = new Map<string, number>()
  const keys = new Map<string, string>()
  /** The token of the last outcome that a run took. */
  const settled = new Map<string, number>()
  const replays = new Map<string, string>()
  const carried = new Map<string, number>()
  /** Claims less those that were given back. */
  const used = new Map<string, number>()

  const checkWay = (call: Call, { before, after }: Change): void => {
    if (before !== null && isFinal(before.state))
      return violated("I7", after, `was ${before.state} and became ${after.state} by ${call.operation}`)
    const way: Way = `${before?.state ?? "none"} ${after.state}`
    if (ways[way]?.includes(call.operation) !== true)
      violated("I4", after, `went ${way.replace(" ", " -> ")} by ${call.operation}`)
  }

  const checkToken = (call: Call, before: Run, after: Run): void => {
    if (after.token < before.token) violated("I4", after, `has token ${after.token} after ${before.token}`)
    // Cancelled by whatever ended its flow run needs no token, and no lease.
    if (before.state !== "running" || after.state === "running" || after.state === "cancelled") return
    if (call.operation === "reclaim") {
      const until = leases.get(before.node ?? "") ?? 0
      if (until > call.now)
        violated("I3", after, `was taken from ${before.node}, whose lease holds for ${until - call.now} ms`)
      return
    }
    if (call.operation !== "settle") return
    if (after.state === "succeeded" && after.output !== outputOf(before))
      violated("I4", after, `succeeded under token ${before.token} with what another attempt gave`)
    const settlements = call.args[0] as ReadonlyArray<Settlement>
    if (!settlements.some(({ id, token }) => id === before.id && token === before.token))
      violated("I4", after, `was settled without its token ${before.token}`)
  }

  const checkClaim = (call: Call, before: Run, after: Run): void => {
    if (before.dueAt > call.now) violated("I9", after, `was claimed ${before.dueAt - call.now} ms early`)
    if (after.token <= before.token) violated("I4", after, "was claimed without a new token")
    if (after.waitingFor > 0 && after.parentId === null && after.needs.length > 0)
      violated("I6", after, `was claimed while it waits for ${after.waitingFor} runs`)
    for (const need of after.needs) {
      const state = table.entries.get(need)?.run.state
      if (state !== "succeeded") violated("I6", after, `was claimed while ${need} is ${state}`)
    }
    const claims = (used.get(after.id) ?? 0) + 1
    used.set(after.id, claims)
    if (after.attempt > after.attemptMax || claims > after.attemptMax)
      violated("I5", after, `is at attempt ${claims} of ${after.attemptMax}`)
  }

  const checkCarried = (before: Run | null, after: Run): void => {
    if (before?.state === "running" && before.node !== null)
      carried.set(before.node, (carried.get(before.node) ?? 0) - 1)
    if (after.state !== "running" || after.node === null) return
    const count = (carried.get(after.node) ?? 0) + 1
    carried.set(after.node, count)
    // As many again may have ended whose outcomes are on their way. What workers have is bounded elsewhere.
    if (swarm.workers === 0 && count > 2 * swarm.slots)
      violated("I11", after, `is run ${count} of ${after.node}, which has ${swarm.slots} slots`)
  }

  const checkKey = (before: Run | null, after: Run): void => {
    if (after.key === null) return
    const name = `${after.job} ${after.key}`
    const holder = keys.get(name)
    if (before === null && holder !== undefined)
      violated("I11", after, `has the key of ${holder}, which has not ended`)
    if (!isFinal(after.state)) keys.set(name, after.id)
    else if (holder === after.id) keys.delete(name)
  }

  // A letter is replayed once; re-runs of a flow run that ended well have no letter.
  const checkReplay = ({ operation }: Call, after: Run): void => {
    if (operation !== "replay" || after.replayOf === null) return
    const known = replays.get(after.replayOf)
    if (known !== undefined) violated("I8", after, `replays ${after.replayOf}, as ${known} does`)
    replays.set(after.replayOf, after.id)
  }

  const count = (before: Run | null, after: Run): void => {
    if (before === null) watch.counters.runs++
    if (before?.state === "running" && (after.state === "ready" || after.state === "scheduled"))
      used.set(after.id, (used.get(after.id) ?? 0) - 1)
    if (!isFinal(after.state)) return
    watch.counters.ended++
    if (after.state === "dead") watch.counters.dead++
  }

  const checkEnd = (call: Call, { after }: Change): void => {
    if (["skipped", "cancelled", "expired"].includes(after.state) && (after.reason ?? "") === "")
      violated("I2", after, `is ${after.state} without a reason`)
    if (isFinal(after.state) && after.endedAt !== call.now)
      violated("I7", after, "ended at another time than now")
    if (after.state !== "dead") return
    if (after.error === null) violated("I8", after, "is dead without an error")
    if (after.parentId === null && !table.letters.has(after.id))
      violated("I8", after, "is dead without a letter")
  }

  /** The first time, and whenever the same outcome comes again, it is settled; whatever else comes is stale. */
  const checkAnswers = (call: Call, answer: unknown): void => {
    const settlements = call.args[0] as ReadonlyArray<Settlement>
    for (const { before, after } of call.changes) {
      // One that was called off with a sibling did not take its own outcome any more.
      const isTaken = before?.state === "running" && after.state !== "cancelled"
      if (isTaken && settlements.some(({ id }) => id === after.id)) settled.set(after.id, before.token)
    }
    for (const [place, { id, result }] of (answer as ReadonlyArray<Settled>).entries()) {
      if (result === "stale") watch.counters.stale++
      const run = table.entries.get(id)?.run
      const token = settlements[place]?.token
      if (run === undefined) continue
      const isOwn = settled.get(id) === token && run.token === token && run.state !== "running"
      if (isOwn !== (result === "settled"))
        violated("I4", run, `has token ${run.token}, and an outcome under ${token} was told to be ${result}`)
    }
  }

  const checkClaimed = (call: Call, answer: unknown): void => {
    const { node, limit } = call.args[0] as Claim
    const runs = answer as ReadonlyArray<Run>
    if (runs.length > limit) watch.violated("I11", `${node} asked for ${limit} runs and got ${runs.length}`)
    for (const run of runs) {
      const isNew = call.changes.some(({ before, after }) => after === run && before?.state === "ready")
      if (!isNew || run.node !== node)
        violated("I3", run, `was given to ${node}, and is ${run.state} at ${run.node} under ${run.token}`)
    }
  }

  const keepLeases = ({ operation, args, now }: Call, answer: unknown): void => {
    if (operation === "join") leases.set((args[0] as { id: string }).id, now + (args[1] as number))
    if (operation === "renew" && answer === true) leases.set(args[0] as string, now + (args[1] as number))
    if (operation === "leave") leases.delete(args[0] as string)
  }

  const checkLetters = (): void => {
    for (const { run } of table.entries.values()) {
      const letter = table.letters.get(run.id)
      if (letter !== undefined && run.state !== "dead")
        violated("I8", run, `has a letter and is ${run.state}`)
    }
  }

  const checkCounts = (): void => {
    const counts = new Map<string, number>()
    for (const { run } of table.entries.values()) {
      const name = `${run.job} ${run.state}`
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    for (const { job, state, count: kept } of ground.driver.counts() as ReadonlyArray<{
      job: string
      state: RunState
      count: number
    }>) {
      const name = `${job} ${state}`
      if (counts.get(name) !== kept)
        watch.violated("I1", `${kept} runs of ${name} are counted, there are ${counts.get(name) ?? 0}`)
      counts.delete(name)
    }
    for (const [name, missing] of counts) watch.violated("I1", `${missing} runs of ${name} are not counted`)
  }

  /** What must have ended by now: the last request came when the storm was over. */
  const checkEnded = (): void => {
    const open = [...table.entries.values()].map(({ run }) => run).filter(({ state }) => !isFinal(state))
    // With all slots taken and more that waits there was too much to do; who waits while a slot is free is told elsewhere.
    const count = (state: RunState): number => open.filter((run) => run.state === state).length
    if (count("ready") > 0 && count("running") >= swarm.slots * seats().length) return
    const steps = new Map<string, Array<Run>>()
    for (const run of open) {
      if (run.parentId !== null) steps.set(run.parentId, [...(steps.get(run.parentId) ?? []), run])
    }
    const live = new Set(seats().map(({ engine }) => engine?.node()))
    /** A clock of the store that was stepped back lets due times, and leases of the dead, wait as long. */
    const mayWait = (run: Run): boolean => {
      if (run.state === "blocked") {
        const needs = run.needs.flatMap((id) => table.entries.get(id)?.run ?? [])
        return [...needs.filter(({ state }) => !isFinal(state)), ...(steps.get(run.id) ?? [])].some(mayWait)
      }
      if (Math.max(run.dueAt, run.createdAt) >= ground.now() - overdueMillis) return true
      const node = run.node ?? ""
      return run.state === "running" && !live.has(node) && (leases.get(node) ?? 0) > ground.now()
    }
    for (const run of open) {
      if (mayWait(run)) continue
      const seconds = Math.round((ground.now() - Math.max(run.dueAt, run.createdAt)) / 1000)
      violated("I10", run, `is ${run.state} at the end, ${seconds} s after it was due`)
    }
  }

  return {
    saw: (call, answer) => {
      watch.counters.operations++
      keepLeases(call, answer)
      for (const change of call.changes) {
        const { before, after } = change
        watch.tell(
          "store",
          () =>
            `${call.operation} ${after.job} ${after.id} ${before?.state ?? "new"} -> ${after.state} attempt ${after.attempt} token ${after.token} node ${after.node ?? "-"}`,
        )
        checkWay(call, change)
        checkCarried(before, after)
        checkKey(before, after)
        if (before === null) checkReplay(call, after)
        count(before, after)
        if (before !== null) checkToken(call, before, after)
        if (before !== null && before.state !== "running" && after.state === "running")
          checkClaim(call, before, after)
        checkEnd(call, change)
      }
      if (call.operation === "settle" && answer !== undefined) checkAnswers(call, answer)
      if (call.operation === "claim" && answer !== undefined) checkClaimed(call, answer)
      if (call.operation === "reclaim" && answer !== undefined)
        watch.counters.reclaimed += (answer as ReadonlyArray<unknown>).length
    },
    end: () => {
      checkLetters()
      checkCounts()
      checkEnded()
    },
  }
}
