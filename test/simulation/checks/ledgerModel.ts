// A model of schedules and their ledger, simple and by brute force: it follows the calls that reach the store, says
// which answer and which rows each may have, and knows at any moment which instants have no row yet. Written from the
// port's and the domain's words and the README; the instants are those of `patterns.ts`.
import { isFinal, type Run } from "../../../core/domain/Run.ts"
import type { DueSchedule, Occurrence, PutSchedule, ScheduleRow } from "../../../core/domain/Schedule.ts"
import type { Fill, Filled, Fire } from "../../../core/ports/StoreDriver.ts"
import type { Call } from "../Ground.ts"
import { type Known, type Ledger, LedgerState, type ModelOptions, type Row, time } from "./LedgerState.ts"
import { RowChecks } from "./ledgerRows.ts"
import { isMoving, SavedSchedules } from "./ledgerSaved.ts"

/** Follows a store. */
export class LedgerModel {
  readonly #state: LedgerState
  readonly #rows: RowChecks
  readonly #saved: SavedSchedules

  constructor(options: ModelOptions) {
    this.#state = new LedgerState(options)
    this.#rows = new RowChecks(this.#state)
    this.#saved = new SavedSchedules(this.#state)
  }

  get schedules(): ReadonlyMap<string, Known> {
    return this.#state.schedules
  }

  get ledgers(): ReadonlyMap<string, Ledger> {
    return this.#state.ledgers
  }

  /** Takes in one call, and what became of it; an absent answer of `fire` and `backfill`: it was refused. */
  saw(call: Call, answer: unknown): void {
    if (call.now < this.#state.now) this.#state.peaks.push(this.#state.now)
    this.#state.now = call.now
    const { args } = call
    if (call.operation === "fire" && answer !== undefined)
      this.#fire(args[0] as ReadonlyArray<Fire>, answer as ReadonlyArray<string>, call)
    this.#state.follow(call, answer)
    if (call.operation === "backfill" && answer !== undefined)
      this.#backfill(args[0] as ReadonlyArray<Fill>, answer as ReadonlyArray<Filled>, call)
    if (call.operation === "putSchedules")
      for (const schedule of args[0] as ReadonlyArray<PutSchedule>) this.#saved.put(schedule)
    if (call.operation === "deleteSchedules")
      for (const id of args[0] as ReadonlyArray<string>) this.#state.schedules.delete(id)
    if (call.operation === "pauseSchedule") this.#pause(args[0] as string, args[1] as boolean, answer)
    if (call.operation === "dueSchedules" && answer !== undefined)
      for (const due of answer as ReadonlyArray<DueSchedule>) this.#saw(due)
  }

  /** Schedules that somebody should decide now, with their version. */
  due(now: number): ReadonlyArray<string> {
    const due: Array<string> = []
    for (const known of this.#state.schedules.values()) {
      if (known.pausedAt !== null) continue
      const isDue =
        known.nextAt === null ? known.waitsUntil !== null && !this.#state.isAlive(known) : known.nextAt <= now
      if (isDue) due.push(`${known.id} ${known.version}`)
    }
    return due
  }

  /** Compares with what the store says of itself. */
  compare(rows: ReadonlyArray<ScheduleRow>, ledgerOf: (id: string) => ReadonlyArray<Occurrence>): void {
    const fields = [
      "version",
      "cursor",
      "nextAt",
      "waitsUntil",
      "pausedAt",
      "resumedAt",
      "createdAt",
      "runCount",
      "lastRunId",
    ] as const
    if (rows.length !== this.#state.schedules.size)
      this.#state.options.violated(
        "I2",
        `${rows.length} schedules are stored, there should be ${this.#state.schedules.size}`,
      )
    for (const row of rows) {
      const known = this.#state.schedules.get(row.id)
      for (const field of fields)
        if (known?.[field] !== row[field])
          this.#state.options.violated(
            "I2",
            `${row.id}.${field} is ${row[field]}, and should be ${known?.[field]}`,
          )
    }
    for (const [id, { rows: own }] of this.#state.ledgers) {
      const stored = ledgerOf(id)
      if (stored.length !== own.size)
        this.#state.options.violated("I2", `${id} has ${stored.length} rows, and should have ${own.size}`)
      for (const { at, lastAt, count, runId, reason } of stored) {
        const row = own.get(at)
        const isSame =
          row?.lastAt === lastAt && row.count === count && row.runId === runId && row.reason === reason
        if (!isSame)
          this.#state.options.violated("I2", `${id} has another row at ${time(at)} than was written`)
      }
    }
  }

  #pause(id: string, paused: boolean, answer: unknown): void {
    const known = this.#state.schedules.get(id)
    if (answer !== (known !== undefined))
      this.#state.options.violated("I2", `${id} was ${String(answer)} to a pause`)
    if (known === undefined || paused === (known.pausedAt !== null)) return
    known.version++
    known.pausedAt = paused ? this.#state.now : null
    if (!paused) known.resumedAt = this.#state.now
  }

  #saw(due: DueSchedule): void {
    const known = this.#state.schedules.get(due.id)
    if (known === undefined || known.version !== due.version)
      return this.#state.violated(due, "was read as it is not")
    const alive = this.#state.isAlive(known)
    if (alive !== due.lastRunAlive)
      this.#state.violated(due, `has a last run that is ${alive ? "alive" : "not alive"}`)
    if (known.pausedAt !== null) this.#state.violated(due, "is paused, and was given out as due")
    if (known.read?.version === due.version) {
      known.read.now = Math.min(known.read.now, this.#state.now)
      known.read.alive ||= alive
    } else
      known.read = { version: due.version, now: this.#state.now, alive, stepsBack: this.#state.peaks.length }
  }

  #fire(fires: ReadonlyArray<Fire>, answers: ReadonlyArray<string>, call: Call): void {
    const created = new Map<string, Run>()
    for (const { before, after } of call.changes) if (before === null) created.set(after.id, after)
    for (const [place, fire] of fires.entries()) {
      const known = this.#state.schedules.get(fire.scheduleId)
      const rows = this.#state.ledgers.get(fire.scheduleId)?.rows
      const isTwice =
        new Set(fire.occurrences.map(({ at }) => at)).size < fire.occurrences.length ||
        fire.occurrences.some(({ at }) => rows?.has(at) === true)
      const right = known === undefined || known.version !== fire.version || isTwice ? "conflict" : "fired"
      if (answers[place] !== right)
        this.#state.options.violated(
          "I2",
          `${fire.scheduleId} ${answers[place]}, and should have ${right}: version ${fire.version} of ${known?.version}`,
        )
      if (answers[place] !== "fired" || known === undefined) continue
      this.#checkRuns(known, fire, created)
      this.#step(known, fire)
      this.#checkSerial(known, fire, call)
    }
    for (const id of created.keys())
      this.#state.options.violated("I2", `run ${id} was made by a step that was not done`)
  }

  /** Rows have a run that is made in the same step, or a reason. */
  #checkRuns(known: Known, fire: Fire, created: Map<string, Run>): void {
    let last: string | null = null
    for (const { at, runId, reason, nominalAt } of fire.occurrences) {
      if ((runId === null) === (reason === null))
        this.#state.violated(
          known,
          `has a row at ${time(at)} with ${runId === null ? "neither run nor reason" : "both run and reason"}`,
        )
      if (runId === null) continue
      last = runId
      const run = created.get(runId)
      if (run === undefined)
        this.#state.violated(known, `has a row at ${time(at)} whose run ${runId} was not made with it`)
      else if (
        run.scheduleId !== known.id ||
        run.job !== known.given.job ||
        run.nominalAt !== (nominalAt ?? at)
      )
        this.#state.violated(
          known,
          `has a run ${runId} of ${run.job} for ${time(run.nominalAt ?? 0)}, whose row says ${time(nominalAt ?? at)}`,
        )
      else if (run.dueAt < at)
        this.#state.violated(known, `has a run ${runId} that is due before ${time(at)}`, "I9")
    }
    for (const { id } of fire.runs) created.delete(id)
    if (fire.lastRunId !== last)
      this.#state.violated(known, `has ${fire.lastRunId} as its last run, which is ${last}`)
  }

  /** One step that was done. */
  #step(known: Known, fire: Fire): void {
    const { occurrences, cursor, nextAt } = fire
    const isSkip = occurrences.some(({ reason }) => reason === "skipped")
    const isByHand = this.#isByHand(known, fire)
    const ledger = this.#state.ledger(known.id)
    if (cursor < known.cursor)
      this.#state.violated(known, `has its cursor set back from ${time(known.cursor)} to ${time(cursor)}`)
    if (known.pausedAt !== null && occurrences.length > 0 && !isSkip && !isByHand)
      this.#state.violated(known, "is paused, and instants of it were decided")
    const isAgain = this.#goesOnAgain(known, fire)
    if (isByHand) {
      if (++ledger.runsByHand > this.#state.options.asked("runNow", known.id))
        this.#state.violated(
          known,
          `has a run at ${time(occurrences[0]?.at ?? 0)}, which is no instant of it`,
        )
      if (this.#state.rowOf(known.id, occurrences[0]?.at ?? 0) !== undefined)
        this.#state.violated(known, "has an instant twice")
    } else {
      if (isSkip && ++ledger.skipped > this.#state.options.asked("skipNext", known.id))
        this.#state.violated(known, "has a skipped instant that nobody asked to skip")
      for (const row of occurrences) this.#rows.checkRow(known, fire, row, isSkip)
      this.#rows.checkCount(known, fire)
    }
    for (const row of occurrences) {
      ledger.rows.set(row.at, row)
      if (row.lastAt > row.at) ledger.ranges.set(row, known.slots)
      this.#state.options.counted?.(row.reason ?? "run", row.count)
    }
    const wasNextAt = known.nextAt
    known.version++
    known.cursor = cursor
    known.nextAt = nextAt
    known.waitsUntil = fire.waitsUntil
    known.runCount += occurrences.filter(({ runId }) => runId !== null).length
    known.lastRunId = fire.lastRunId ?? known.lastRunId
    known.read = null
    if (!isAgain) this.#checkStanding(known, wasNextAt)
  }

  /**
   * Whether a fixed rate goes on in time that comes again: a step without rows that names an instant before those that
   * are decided. Only after the store's clock was set back.
   */
  #goesOnAgain(known: Known, { occurrences, nextAt, cursor }: Fire): boolean {
    if (known.given.trigger.kind !== "every" || occurrences.length > 0 || nextAt === null) return false
    if (cursor !== known.cursor || known.nextAt === null || nextAt >= known.nextAt) return false
    // Its own: the first was named for the moment before the creation, and its calendars have been looked at since.
    if (known.slots?.at(nextAt) !== undefined) {
      known.decidedTo = Math.min(known.decidedTo, nextAt - 1)
      return false
    }
    // The cursor may be ahead of every clock, where somebody has skipped what comes next.
    if (!this.#state.peaks.some((peak) => peak > this.#state.now))
      this.#state.violated(
        known,
        `goes on at ${time(nextAt)}, before ${time(known.nextAt)}, and no clock was set back`,
      )
    known.again.push(nextAt)
    return true
  }

  /** A run by hand: a single row beside the instants, and the schedule stands where it stood. */
  #isByHand(known: Known, { occurrences, cursor, nextAt, waitsUntil }: Fire): boolean {
    const [row] = occurrences
    if (row === undefined || occurrences.length > 1 || row.runId === null || cursor !== known.cursor)
      return false
    return known.slots === null
      ? nextAt === null && waitsUntil === row.at && row.at !== this.#state.delayOver(known)
      : nextAt === known.nextAt && waitsUntil === known.waitsUntil
  }

  /** After a step: the next instant is the first one without a row, and nothing is left out before it. */
  #checkStanding(known: Known, wasNextAt: number | null): void {
    if (known.slots === null) return
    const { nextAt, waitsUntil, cursor, runCount, given } = known
    const open = this.#state.open(known)
    const at = open?.at ?? Infinity
    if (nextAt !== null) {
      if (at < nextAt) {
        this.#state.violated(known, `goes on at ${time(nextAt)}, and there is no row for ${time(at)}`)
        known.decidedTo = nextAt - 1
      } else if (
        at !== nextAt &&
        nextAt !== wasNextAt &&
        // One that got its run by hand ahead of its turn is only passed by.
        this.#state.rowOf(known.id, nextAt) === undefined &&
        nextAt < known.decidedTo + 3_600_000 &&
        !this.#state.isAgain(known, nextAt)
      )
        this.#state.violated(
          known,
          `goes on at ${time(nextAt)}, and its first instant without a row is ${time(at)}`,
        )
      return
    }
    const isLost =
      given.trigger.kind !== "at" &&
      waitsUntil !== null &&
      open !== undefined &&
      (isMoving(given.trigger) ? at : (open.of[open.of.length - 1] ?? at)) <= cursor
    const isOver =
      waitsUntil === null && open !== undefined && runCount < (given.trigger.countMax ?? Infinity)
    if (isLost || isOver) {
      this.#state.violated(known, `${isLost ? "waits" : "is over"}, and there is no row for ${time(at)}`)
      known.decidedTo = Math.max(cursor, at)
    }
  }

  /** One at a time, where its overlap says so. */
  #checkSerial(known: Known, fire: Fire, { changes }: Call): void {
    if (fire.lastRunId === null || known.given.overlap === "allow") return
    const states = new Map(changes.map(({ after }) => [after.id, after.state]))
    for (const id of known.serial) {
      const state = states.get(id) ?? this.#state.runs.get(id)?.state
      if (state === undefined || isFinal(state)) known.serial.delete(id)
    }
    known.serial.add(fire.lastRunId)
    const runs = fire.occurrences.filter(({ runId }) => runId !== null).length
    if (known.serial.size > 1 || runs > 1)
      this.#state.violated(
        known,
        `has ${[...known.serial].join(" and ")} alive with overlap "${known.given.overlap}"`,
      )
  }

  #backfill(fills: ReadonlyArray<Fill>, answers: ReadonlyArray<Filled>, call: Call): void {
    const created = new Set<string>()
    for (const { before, after } of call.changes) if (before === null) created.add(after.id)
    for (const [place, { scheduleId, at, runs }] of fills.entries()) {
      const answer = answers[place]
      const known = this.#state.schedules.get(scheduleId)
      const there = known === undefined ? undefined : this.#state.ledgers.get(scheduleId)?.rows.get(at)
      const right =
        known === undefined ? "unknown" : there !== undefined && there.runId !== null ? "exists" : "created"
      if (answer?.result !== right || (right === "exists" && answer.runId !== there?.runId))
        this.#state.options.violated(
          "I2",
          `${scheduleId} answers ${answer?.result} for ${time(at)}, which is ${right}`,
        )
      if (answer?.result !== "created" || known === undefined) continue
      if (this.#state.options.asked("backfill", scheduleId) === 0)
        this.#state.violated(known, "was filled, and nobody had asked for it")
      if (at > Math.max(this.#state.now, ...this.#state.peaks))
        this.#state.violated(known, `has a run for ${time(at)}, before it has come`, "I9")
      const runId = runs[runs.length - 1]?.id ?? null
      if (runId === null || !created.has(runId))
        this.#state.violated(known, `was filled at ${time(at)} without a run`)
      const isAlone = there !== undefined && (there.count === 1 || there.lastAt === at)
      const held = isAlone ? { ...there, lastAt: at } : { at, lastAt: at, count: 1, nominalAt: null }
      this.#fill(this.#state.ledger(scheduleId), { ...held, runId, reason: null }, there)
    }
  }

  /** Puts a row in the place of one of its own, or takes its instant out of the row that it shares. */
  #fill(ledger: Ledger, row: Row, own: Row | undefined): void {
    this.#state.options.counted?.("filled", 1)
    ledger.rows.set(row.at, row)
    if (own !== undefined && (own.count === 1 || own.lastAt === own.at)) return void ledger.ranges.delete(own)
    for (const [range, slots] of ledger.ranges) {
      if (range.count === 1 || range.at > row.at || row.at > range.lastAt) continue
      const rest = { ...range, at: range.at === row.at ? row.at + 1 : range.at, count: range.count - 1 }
      ledger.ranges.delete(range)
      ledger.ranges.set(rest, slots)
      ledger.rows.set(rest.at, rest)
      return
    }
  }
}
