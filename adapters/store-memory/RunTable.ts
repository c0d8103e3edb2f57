// The runs of the memory store with all that is derived from them: what is ready, waiting, running and ended,
// keys, counts and dead letters. One method changes a run (`put`), and every index changes with it, so that no
// operation can leave them apart; `apply` does what follows for other runs as well. Time comes in as an argument; nothing here waits or throws.
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import { type Attempt, type ErrorInfo, isFinal, type Run, type RunState } from "../../core/domain/Run.ts"
import { type FlowRun, Plans } from "./FlowRun.ts"
import { follow } from "./follow.ts"
import { Heap, type Placed } from "./Heap.ts"
import { IdList } from "./IdList.ts"

/** A run's place in the table. */
export interface Entry extends Placed {
  /** The row now; replaced as a whole, never changed. */
  run: Run
  /** The last token under which a settlement was applied; -1 for none. */
  settledToken: number
  /** The runs that need this one. */
  readonly dependents: Set<Entry>
  readonly attempts: Array<Attempt>
  /** Its steps, once it has expanded. */
  flow: FlowRun | null
  /** How many re-runs that are there kept the step whose run this is. */
  keeperCount: number
}

const firstToClaim = (a: Entry, b: Entry): boolean =>
  a.run.priority !== b.run.priority ? a.run.priority > b.run.priority : firstDue(a, b)

const firstDue = (a: Entry, b: Entry): boolean =>
  a.run.dueAt !== b.run.dueAt ? a.run.dueAt < b.run.dueAt : a.run.id < b.run.id

const firstToExpire = (a: Entry, b: Entry): boolean => (a.run.expiresAt ?? 0) < (b.run.expiresAt ?? 0)

// Of those that end together, the outer ones first: they call off those within.
const firstOver = (a: Entry, b: Entry): boolean => {
  const [first, second] = [a.flow?.deadlineAt ?? 0, b.flow?.deadlineAt ?? 0]
  return first === second ? (a.flow?.place ?? 0) < (b.flow?.place ?? 0) : first < second
}

const firstEnded = (a: Entry, b: Entry): boolean => (a.run.endedAt ?? 0) < (b.run.endedAt ?? 0)

/** All runs and their indexes. */
export class RunTable {
  readonly entries = new Map<string, Entry>()
  readonly ids = new IdList()
  /** Ready runs by queue and job, the first to claim on top. */
  readonly ready = new Map<string, Map<string, Heap<Entry>>>()
  /** Scheduled and retrying runs, the first due on top. */
  readonly waiting = new Heap<Entry>(firstDue)
  /** Runs that expire when they are not started, the first on top. */
  readonly expiring = new Heap<Entry>(firstToExpire, "expiryPlace")
  /** Flow runs that wait for their steps until a deadline, the first on top. */
  readonly deadlines = new Heap<Entry>(firstOver)
  /** Ended runs that no letter and no flow run holds, the first ended on top. */
  readonly ended = new Heap<Entry>(firstEnded)
  /** Running runs by node. */
  readonly running = new Map<string, Set<Entry>>()
  readonly letters = new Map<string, DeadLetter>()
  /** The runs of letters that were not replayed. */
  readonly openLetters = new IdList()
  readonly counts = new Map<string, Map<RunState, number>>()
  readonly plans = new Plans()
  readonly #keys = new Map<string, Map<string, string>>()

  /** The run that holds this key of this job. */
  keyHolder(job: string, key: string): Run | undefined {
    const id = this.#keys.get(job)?.get(key)
    return id === undefined ? undefined : this.entries.get(id)?.run
  }

  /** Stores the first row of a run; its needs are there, and its id is not. */
  insert(run: Run, flow: FlowRun | null = null): Entry {
    const entry: Entry = {
      run,
      settledToken: -1,
      dependents: new Set(),
      attempts: [],
      flow,
      keeperCount: 0,
      place: -1,
      expiryPlace: -1,
    }
    this.entries.set(run.id, entry)
    this.ids.add(run.id)
    for (const need of run.needs) this.entries.get(need)?.dependents.add(entry)
    if (run.parentId !== null) this.entries.get(run.parentId)?.flow?.runs.add(entry)
    this.#count(run, 1)
    this.#enter(entry)
    return entry
  }

  /**
   * Gives a run its next row and does all that comes with it: the attempt that ended with `error`, the dead
   * letter, the release or end of every run that waits for it, and what follows for its steps or its flow run.
   */
  apply(entry: Entry, next: Run, now: number, error: ErrorInfo | null = null): void {
    this.put(entry, next, now, error)
    if (isFinal(next.state) || entry.flow !== null) follow(this, entry, now)
  }

  /** The same without what follows for other runs. */
  put(entry: Entry, next: Run, now: number, error: ErrorInfo | null = null): void {
    if (error !== null) {
      const { id, attempt, token, node, startedAt } = entry.run
      entry.attempts.push({ runId: id, attempt, token, node, startedAt, endedAt: now, error })
    }
    this.#leave(entry)
    this.#count(entry.run, -1)
    entry.run = next
    this.#count(next, 1)
    // The steps of a flow run have no letters: it has.
    if (next.state === "dead" && next.parentId === null) {
      const { id, job, attempt, error: last } = next
      const kept: ErrorInfo = last ?? { name: "Error", message: "No error was reported", kind: "error" }
      this.letters.set(id, { runId: id, job, diedAt: now, attempt, error: kept, replayedBy: null })
      this.openLetters.add(id)
    }
    this.#enter(entry)
  }

  /** A re-run keeps the runs of its steps that do not start anew; they stay as long as it does. */
  keep(flow: FlowRun): void {
    flow.kept = flow.runIds.flatMap((id) => this.entries.get(id) ?? [])
    for (const entry of flow.kept) entry.keeperCount++
  }

  /** Marks a letter as replayed: it is off the list, and no longer holds its run. */
  markReplayed(letter: DeadLetter, replayedBy: string): void {
    this.letters.set(letter.runId, { ...letter, replayedBy })
    this.#closeLetter(letter.runId)
  }

  /** Removes a letter; `false` when there is none. */
  dropLetter(runId: string): boolean {
    const letter = this.letters.get(runId)
    if (letter === undefined) return false
    this.letters.delete(runId)
    if (letter.replayedBy === null) this.#closeLetter(runId)
    return true
  }

  /** Removes ended runs that are out of `ended`, with all that hangs on them; what only they held is free then. */
  forget(entries: ReadonlyArray<Entry>): void {
    for (const entry of entries) {
      const { id, needs } = entry.run
      this.entries.delete(id)
      this.letters.delete(id)
      for (const need of needs) this.entries.get(need)?.dependents.delete(entry)
      this.#count(entry.run, -1)
    }
    this.ids.removeAll(entries.map((entry) => entry.run.id))
    for (const { flow } of entries) if (flow !== null) this.#forgetFlow(flow)
  }

  #forgetFlow({ plan, runs, kept }: FlowRun): void {
    this.plans.giveBack(plan)
    for (const entry of kept) entry.keeperCount--
    for (const step of [...runs, ...kept]) if (isFinal(step.run.state)) this.#free(step)
  }

  #closeLetter(runId: string): void {
    this.openLetters.remove(runId)
    const entry = this.entries.get(runId)
    if (entry !== undefined) this.#free(entry)
  }

  /** An ended run may be pruned, unless something holds it. */
  #free(entry: Entry): void {
    const { id, parentId } = entry.run
    const letter = this.letters.get(id)
    const isHeld =
      (letter !== undefined && letter.replayedBy === null) ||
      entry.keeperCount > 0 ||
      (parentId !== null && this.entries.get(parentId)?.flow?.runs.has(entry) === true)
    if (!isHeld && entry.place < 0) this.ended.push(entry)
  }

  #leave(entry: Entry): void {
    const { state, node } = entry.run
    if (entry.expiryPlace >= 0) this.expiring.remove(entry)
    if (state === "ready") this.leaveReady(entry)
    else if (state === "scheduled" || state === "retrying") this.waiting.remove(entry)
    else if (state === "blocked" && entry.place >= 0) this.deadlines.remove(entry)
    else if (state === "running" && node !== null) {
      const carried = this.running.get(node)
      carried?.delete(entry)
      if (carried?.size === 0) this.running.delete(node)
    }
  }

  #enter(entry: Entry): void {
    const { id, job, key, state, node, expiresAt } = entry.run
    if (state === "ready") this.readyHeap(entry.run).push(entry)
    else if (state === "scheduled" || state === "retrying") this.waiting.push(entry)
    else if (state === "blocked" && (entry.flow?.deadlineAt ?? null) !== null) this.deadlines.push(entry)
    else if (state === "running" && node !== null) {
      const carried = this.running.get(node)
      if (carried === undefined) this.running.set(node, new Set([entry]))
      else carried.add(entry)
    } else if (isFinal(state)) this.#free(entry)
    const mayExpire = state === "ready" || state === "scheduled" || state === "retrying"
    if (mayExpire && expiresAt !== null) this.expiring.push(entry)
    if (key !== null) this.#holdKey(job, key, id, !isFinal(state))
  }

  /** Takes a ready run out of its heap; an empty one goes, as a claim looks at each that there is. */
  leaveReady(entry: Entry): void {
    const heap = this.readyHeap(entry.run)
    heap.remove(entry)
    if (heap.top === undefined) this.ready.get(entry.run.queue)?.delete(entry.run.job)
  }

  /** The heap that a ready run is in. */
  readyHeap(run: Run): Heap<Entry> {
    let jobs = this.ready.get(run.queue)
    if (jobs === undefined) this.ready.set(run.queue, (jobs = new Map()))
    let heap = jobs.get(run.job)
    if (heap === undefined) jobs.set(run.job, (heap = new Heap(firstToClaim)))
    return heap
  }

  #holdKey(job: string, key: string, id: string, held: boolean): void {
    let keys = this.#keys.get(job)
    if (held) {
      if (keys === undefined) this.#keys.set(job, (keys = new Map()))
      keys.set(key, id)
    } else if (keys?.get(key) === id) {
      keys.delete(key)
      if (keys.size === 0) this.#keys.delete(job)
    }
  }

  #count(run: Run, by: 1 | -1): void {
    let states = this.counts.get(run.job)
    if (states === undefined) this.counts.set(run.job, (states = new Map()))
    const count = (states.get(run.state) ?? 0) + by
    if (count > 0) states.set(run.state, count)
    else states.delete(run.state)
    if (states.size === 0) this.counts.delete(run.job)
  }
}
