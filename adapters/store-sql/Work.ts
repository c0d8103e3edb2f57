// The work of one transaction: the runs that it has read, what it changed of them and all that follows from that:
// counts, attempts, letters, dependents and flows. Every change of a run passes `save`. What was changed is kept here
// and written together, at the end, before anything is read that it may touch, or when it grows.
import type { Attempt, ErrorInfo, Run, RunState } from "../../core/domain/Run.ts"
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import { isFinal } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Awaitable } from "../../core/ports/StoreDriver.ts"
import type { Definitions } from "./Definitions.ts"
import { FlowWork } from "./FlowWork.ts"
import { done, mapped, nothing, type Sql, wait, waitAll } from "./Sql.ts"
import type { CountChange, Dependent, RunRow, Tables } from "./Tables.ts"

/** A run that has reached a final state, as far as others wait for it. */
export type EndedRun = Pick<Run, "id" | "job" | "state" | "needs" | "parentId" | "step">

// A run may be as large as two payloads: how many are kept at a time.
const heldMax = 200

/** How many runs of a batch are worth reading ahead. */
export const aheadMax = 100

/** One transaction; thrown away with it. */
export class Work {
  readonly tables: Tables
  readonly definitions: Definitions
  private flowWork: FlowWork | undefined
  private readonly rows = new Map<string, RunRow>()
  private readonly changed = new Set<string>()
  private readonly counts = new Map<string, { job: string; state: RunState; by: number }>()
  private readonly dependents = new Map<string, Array<Dependent>>()
  private attempts: Array<Attempt> = []
  private letters: Array<DeadLetter> = []
  private dropped: Array<Dependent> = []
  private tasks: Array<{ readonly ended: EndedRun | null; readonly left: string | null }> = []
  private isFollowing = false

  constructor(tables: Tables, definitions: Definitions) {
    this.tables = tables
    this.definitions = definitions
  }

  /** Most transactions have nothing to do with flows. */
  get flows(): FlowWork {
    return (this.flowWork ??= new FlowWork(this))
  }

  now(): number {
    return this.tables.now()
  }

  /** Reads runs that will be asked for. */
  load(ids: ReadonlyArray<string>): Sql<unknown> {
    const missing = ids.filter((id) => !this.rows.has(id))
    return missing.length === 0 ? nothing : this.read([...new Set(missing)])
  }

  find(id: string): Sql<RunRow | undefined> {
    const known = this.rows.get(id)
    if (known !== undefined) return done(known)
    if (this.rows.size >= heldMax || this.flowWork?.isChanged === true) return this.readOne(id)
    return mapped(this.tables.runs.find([id]), ([row]) => {
      if (row !== undefined) this.rows.set(id, row)
      return row
    })
  }

  /** What is known of a run without reading it: whoever changes rows by himself must look here first. */
  known(id: string): RunRow | undefined {
    return this.rows.get(id)
  }

  private *readOne(id: string): Sql<RunRow | undefined> {
    yield* this.read([id])
    return this.rows.get(id)
  }

  private *read(ids: ReadonlyArray<string>): Sql<void> {
    // Of flow runs, the rows say how many steps are open.
    yield* this.flushFlows()
    if (this.rows.size + ids.length > heldMax && this.rows.size > 0) {
      yield* this.flush()
      this.rows.clear()
    }
    for (const row of yield* wait(this.tables.runs.find(ids))) this.rows.set(row.run.id, row)
  }

  /**
   * Makes ready for the end of runs, at most `aheadMax`: reads them and what may follow, in a few round trips instead
   * of some for each. Not needed where a read costs no round trip.
   */
  *expect(ids: ReadonlyArray<string>): Sql<void> {
    // Room for them: what was read for others is not needed any more.
    yield* this.flush()
    this.rows.clear()
    yield* this.load(ids)
    const asked = ids.filter((id) => !this.dependents.has(id))
    if (asked.length > 0) {
      for (const id of asked) this.dependents.set(id, [])
      const found = yield* wait(this.tables.runs.dependentsOf(asked))
      for (const each of found) this.dependents.get(each.needId)?.push(each)
      if (found.length > 0) yield* this.load(found.slice(0, aheadMax).map(({ runId }) => runId))
    }
    yield* this.flows.expect(ids.flatMap((id) => this.rows.get(id)?.run ?? []))
  }

  /** Counts a run that went from one state to another; `null`: it is new, or removed. */
  count(job: string, from: RunState | null, to: RunState | null): void {
    if (from === to) return
    if (from !== null) this.add(job, from, -1)
    if (to !== null) this.add(job, to, 1)
  }

  private add(job: string, state: RunState, by: number): void {
    const name = `${state} ${job}`
    const change = this.counts.get(name)
    if (change === undefined) this.counts.set(name, { job, state, by })
    else change.by += by
  }

  /** Stores a new run and counts it; `false` when its id, or its key while it is in use, is there. */
  insert(run: Run): Sql<boolean> {
    // What has ended here leaves its key to others.
    return this.isChanged ? this.writeAndInsert(run) : this.insertNow(run)
  }

  private *writeAndInsert(run: Run): Sql<boolean> {
    yield* this.flush()
    return yield* this.insertNow(run)
  }

  private insertNow(run: Run): Sql<boolean> {
    return mapped(this.tables.runs.insert(run), (isStored) => {
      if (isStored) this.count(run.job, null, run.state)
      return isStored
    })
  }

  *addDependents(runId: string, needIds: ReadonlyArray<string>): Sql<void> {
    if (needIds.length === 0) return
    const added = needIds.map((needId) => ({ needId, runId }))
    for (const each of added) this.dependents.get(each.needId)?.push(each)
    yield* wait(this.tables.runs.addDependents(added))
  }

  /** Changes a run, with all that follows from its new state. */
  save(before: Run, after: Run, settledToken: number, failed: ErrorInfo | null): Sql<void> {
    this.put(before, after, settledToken)
    if (failed !== null) this.attempts.push(this.attemptOf(before, failed))
    if (after.state === "dead" && after.parentId === null) this.letters.push(this.letterOf(after))
    // One that waits for its needs was never claimed.
    if (before.state === "blocked" && before.attempt > 0) this.tasks.push({ ended: null, left: after.id })
    if (isFinal(after.state)) this.tasks.push({ ended: after, left: null })
    return this.follow()
  }

  /** Changes a run and nothing else. */
  private put(before: Run, after: Run, settledToken: number): void {
    this.rows.set(after.id, { run: after, settledToken })
    this.changed.add(after.id)
    this.count(after.job, before.state, after.state)
  }

  /** How many steps a flow run waits for, which its row will say soon. */
  setWaiting(runId: string, waitingFor: number): void {
    const row = this.rows.get(runId)
    if (row !== undefined) this.rows.set(runId, { ...row, run: { ...row.run, waitingFor } })
  }

  /** Does what follows from the end of a run whose row is written already. */
  ended(run: EndedRun): Sql<void> {
    this.tasks.push({ ended: run, left: null })
    return this.follow()
  }

  /** A list, as chains may be long and flows deep: what follows may add to it, but does not walk it again. */
  private follow(): Sql<void> {
    return this.isFollowing || this.tasks.length === 0 ? nothing : this.walk()
  }

  private *walk(): Sql<void> {
    this.isFollowing = true
    for (const { ended, left } of this.tasks) {
      if (left !== null) yield* this.flows.left(left)
      if (ended === null) continue
      // It waits for nothing any more: what it needed may be pruned.
      for (const needId of ended.needs) this.dropped.push({ needId, runId: ended.id })
      yield* this.endNeeds(ended)
      if (ended.parentId !== null) yield* this.flows.stepEnded(ended)
    }
    this.tasks = []
    this.isFollowing = false
  }

  private endNeeds(need: EndedRun): Sql<void> {
    const answer = this.dependents.get(need.id) ?? this.tables.runs.dependentsOf([need.id])
    return answer instanceof Promise || answer.length > 0 ? this.release(need, answer) : nothing
  }

  /** Releases, or skips, what waits for an ended run; what is skipped goes on the list. */
  private *release(need: EndedRun, answer: Awaitable<ReadonlyArray<Dependent>>): Sql<void> {
    for (const { runId } of yield* wait(answer)) {
      const found = yield* this.find(runId)
      if (found === undefined) continue
      const after =
        need.state === "succeeded"
          ? Transition.needMet(found.run, this.now())
          : Transition.needFailed(found.run, endedReason(need), this.now())
      if (after === null) continue
      this.put(found.run, after, found.settledToken)
      if (isFinal(after.state)) this.tasks.push({ ended: after, left: null })
    }
  }

  private attemptOf(run: Run, error: ErrorInfo): Attempt {
    const { id, attempt, token, node, startedAt } = run
    return { runId: id, attempt, token, node, startedAt, endedAt: this.now(), error }
  }

  private letterOf(run: Run): DeadLetter {
    const { id, job, attempt } = run
    const error = run.error as ErrorInfo
    return { runId: id, job, diedAt: run.endedAt ?? this.now(), attempt, error, replayedBy: null }
  }

  private flushFlows(): Sql<void> {
    return this.flowWork === undefined ? nothing : this.flowWork.flush()
  }

  /** Writes what was changed, but for the counts. */
  flush(): Sql<void> {
    return this.isKeeping ? this.write() : this.flushFlows()
  }

  /** Whether something is kept that was not written yet. */
  private get isChanged(): boolean {
    return this.isKeeping || this.flowWork?.isChanged === true
  }

  /** The same, but for flows. */
  private get isKeeping(): boolean {
    const { changed, dropped, attempts, letters } = this
    return changed.size > 0 || dropped.length > 0 || attempts.length > 0 || letters.length > 0
  }

  private *write(): Sql<void> {
    yield* this.flushFlows()
    const { runs } = this.tables
    const answers: Array<Awaitable<unknown>> = []
    if (this.changed.size > 0) {
      const rows: Array<RunRow> = []
      for (const id of this.changed) rows.push(this.rows.get(id) as RunRow)
      this.changed.clear()
      answers.push(runs.update(rows))
    }
    if (this.attempts.length > 0) {
      answers.push(runs.addAttempts(this.attempts))
      this.attempts = []
    }
    if (this.letters.length > 0) {
      answers.push(runs.addLetters(this.letters))
      this.letters = []
    }
    if (this.dropped.length > 0) {
      answers.push(runs.dropDependents(this.dropped))
      this.dropped = []
    }
    yield* waitAll(answers)
  }

  /** Writes everything; nothing may be done afterwards. */
  *finish(): Sql<void> {
    if (this.isChanged) yield* this.flush()
    const changes: Array<CountChange> = []
    for (const change of this.counts.values()) if (change.by !== 0) changes.push(change)
    if (changes.length > 0) yield* wait(this.tables.runs.addCounts(changes))
  }
}

/** Why a run that needs this one cannot start. */
export const endedReason = ({ job, id, state }: Pick<Run, "job" | "id" | "state">): string =>
  `"${job}" (run ${id}) ended ${state}`
