// A model of schedules and their ledger, simple and by brute force: it follows the calls that reach the store, says
// which answer and which rows each may have, and knows at any moment which instants have no row yet. Written from the
// port's and the domain's words and the README; the instants are those of `patterns.ts`.
import type { Calendar } from "../../../core/domain/Calendar.ts"
import { isFinal, type Run, type RunState } from "../../../core/domain/Run.ts"
import type {
  DueSchedule,
  NewSchedule,
  Occurrence,
  PutSchedule,
  ScheduleRow,
  Trigger,
} from "../../../core/domain/Schedule.ts"
import type { Fill, Filled, Fire } from "../../../core/ports/StoreDriver.ts"
import type { Call } from "../Ground.ts"
import type { ByHand } from "../Schedules.ts"
import { knownUntil, Openings, type Slot, Slots } from "./patterns.ts"

/** What the model is told. */
export interface ModelOptions {
  readonly calendars: ReadonlyArray<Calendar>
  /** How often people asked for something. */
  readonly asked: (what: ByHand, id: string) => number
  readonly violated: (invariant: string, what: string) => void
  /** Rows that were written, by what they say: a reason, or `run`. */
  readonly counted?: (what: string, count: number) => void
}

type Row = Fire["occurrences"][number]
type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/** A run of a schedule, as far as schedules care. */
interface KnownRun {
  readonly state: RunState
  readonly endedAt: number | null
  /** Its letter waits for somebody. */
  isOpen: boolean
}

/** What planners knew when they read a version of a schedule. */
interface Read {
  readonly version: number
  /** The earliest. */
  now: number
  alive: boolean
  /** Steps back of the store's clock before it. */
  readonly stepsBack: number
}

/** A schedule as the model has it. */
interface Known extends Omit<Mutable<ScheduleRow>, keyof NewSchedule | "zoneData" | "pausedNote"> {
  readonly id: string
  given: NewSchedule
  /** Its instants; `null`: a fixed delay. */
  slots: Slots | null
  readonly openings: Openings
  /** All slots up to here, from the first one of this trigger on, have rows. */
  decidedTo: number
  read: Read | null
  /** Where a fixed rate went on after a step back of the clock. */
  readonly again: Array<number>
  /** Runs that must not be alive side by side. */
  readonly serial: Set<string>
}

/** The ledger of one schedule; it outlives the schedule. */
interface Ledger {
  readonly rows: Map<number, Row>
  /** Of these, those that stand for several instants, with the pattern whose instants these are. */
  readonly ranges: Map<Row, Slots | null>
  skipped: number
  runsByHand: number
}

const day = 86_400_000
const lateMillis = 5000
const queueMax = 1000

/** Follows a store. */
export class LedgerModel {
  readonly schedules = new Map<string, Known>()
  readonly ledgers = new Map<string, Ledger>()
  readonly #runs = new Map<string, KnownRun>()
  readonly #options: ModelOptions
  #now = Number.NEGATIVE_INFINITY
  /** What the store's clock showed before each of its steps back. */
  readonly #peaks: Array<number> = []

  constructor(options: ModelOptions) {
    this.#options = options
  }

  /** Takes in one call, and what became of it; an absent answer of `fire` and `backfill`: it was refused. */
  saw(call: Call, answer: unknown): void {
    if (call.now < this.#now) this.#peaks.push(this.#now)
    this.#now = call.now
    const { args } = call
    if (call.operation === "fire" && answer !== undefined)
      this.#fire(args[0] as ReadonlyArray<Fire>, answer as ReadonlyArray<string>, call)
    this.#follow(call, answer)
    if (call.operation === "backfill" && answer !== undefined)
      this.#backfill(args[0] as ReadonlyArray<Fill>, answer as ReadonlyArray<Filled>, call)
    if (call.operation === "putSchedules")
      for (const schedule of args[0] as ReadonlyArray<PutSchedule>) this.#put(schedule)
    if (call.operation === "deleteSchedules")
      for (const id of args[0] as ReadonlyArray<string>) this.schedules.delete(id)
    if (call.operation === "pauseSchedule") this.#pause(args[0] as string, args[1] as boolean, answer)
    if (call.operation === "dueSchedules" && answer !== undefined)
      for (const due of answer as ReadonlyArray<DueSchedule>) this.#saw(due)
  }

  /** Schedules that somebody should decide now, with their version. */
  due(now: number): ReadonlyArray<string> {
    const due: Array<string> = []
    for (const known of this.schedules.values()) {
      if (known.pausedAt !== null) continue
      const isDue =
        known.nextAt === null ? known.waitsUntil !== null && !this.#isAlive(known) : known.nextAt <= now
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
    if (rows.length !== this.schedules.size)
      this.#options.violated(
        "I2",
        `${rows.length} schedules are stored, there should be ${this.schedules.size}`,
      )
    for (const row of rows) {
      const known = this.schedules.get(row.id)
      for (const field of fields)
        if (known?.[field] !== row[field])
          this.#options.violated("I2", `${row.id}.${field} is ${row[field]}, and should be ${known?.[field]}`)
    }
    for (const [id, { rows: own }] of this.ledgers) {
      const stored = ledgerOf(id)
      if (stored.length !== own.size)
        this.#options.violated("I2", `${id} has ${stored.length} rows, and should have ${own.size}`)
      for (const { at, lastAt, count, runId, reason } of stored) {
        const row = own.get(at)
        const isSame =
          row?.lastAt === lastAt && row.count === count && row.runId === runId && row.reason === reason
        if (!isSame) this.#options.violated("I2", `${id} has another row at ${time(at)} than was written`)
      }
    }
  }

  #violated(known: { readonly id: string }, what: string, invariant = "I2"): void {
    this.#options.violated(invariant, `${known.id} ${what}`)
  }

  #isAlive({ lastRunId, given }: Known): boolean {
    const run = lastRunId === null ? undefined : this.#runs.get(lastRunId)
    if (run === undefined) return false
    return !isFinal(run.state) || (given.trigger.holdOnFailure === true && run.state === "dead" && run.isOpen)
  }

  /** Runs of schedules, and their letters. */
  #follow({ operation, changes, args }: Call, answer: unknown): void {
    for (const { after } of changes) {
      if (after.scheduleId === null) continue
      this.#runs.set(after.id, { state: after.state, endedAt: after.endedAt, isOpen: after.state === "dead" })
    }
    const close = (id: string): void => {
      const run = this.#runs.get(id)
      if (run !== undefined) run.isOpen = false
    }
    if (operation === "replay" && answer !== undefined)
      for (const { runId, newRunId } of answer as ReadonlyArray<{ runId: string; newRunId: string | null }>)
        if (newRunId !== null) close(runId)
    if (operation === "drop") for (const id of args[0] as ReadonlyArray<string>) close(id)
    if (operation === "rerunFlow" && (answer as { result: string } | undefined)?.result === "created")
      close(args[0] as string)
  }

  #pause(id: string, paused: boolean, answer: unknown): void {
    const known = this.schedules.get(id)
    if (answer !== (known !== undefined))
      this.#options.violated("I2", `${id} was ${String(answer)} to a pause`)
    if (known === undefined || paused === (known.pausedAt !== null)) return
    known.version++
    known.pausedAt = paused ? this.#now : null
    if (!paused) known.resumedAt = this.#now
  }

  #saw(due: DueSchedule): void {
    const known = this.schedules.get(due.id)
    if (known === undefined || known.version !== due.version)
      return this.#violated(due, "was read as it is not")
    const alive = this.#isAlive(known)
    if (alive !== due.lastRunAlive)
      this.#violated(due, `has a last run that is ${alive ? "alive" : "not alive"}`)
    if (known.pausedAt !== null) this.#violated(due, "is paused, and was given out as due")
    if (known.read?.version === due.version) {
      known.read.now = Math.min(known.read.now, this.#now)
      known.read.alive ||= alive
    } else known.read = { version: due.version, now: this.#now, alive, stepsBack: this.#peaks.length }
  }

  #put({ cursor, nextAt, zoneData: _zoneData, ...given }: PutSchedule): void {
    const known = this.schedules.get(given.id)
    const text = (value: unknown): string => JSON.stringify(value) ?? ""
    const keepsTime = known !== undefined && text(known.given.trigger) === text(given.trigger)
    if (keepsTime && text(known.given) === text(given)) return
    if (keepsTime) {
      if (known.given.overlap !== given.overlap) known.serial.clear()
      known.given = given
      known.version++
      return
    }
    const createdAt = known?.createdAt ?? this.#now
    const { trigger, id } = given
    const offset = offsetOf(given, nextAt, { createdAt: cursor + 1, calendars: this.#options.calendars })
    if (offset < 0 || offset > Math.max(0, (trigger.jitterMillis ?? 0) - 1))
      this.#violated(given, `is first due at ${time(nextAt ?? 0)}, which is no instant of it with any jitter`)
    this.#checkFirst(given, { cursor, nextAt, createdAt, offset })
    const from = Math.min(known?.cursor ?? cursor, cursor)
    this.schedules.set(id, {
      ...(known ?? fresh),
      id,
      given,
      version: (known?.version ?? 0) + 1,
      cursor: from,
      nextAt,
      waitsUntil: null,
      createdAt,
      slots: this.#slots(given, { createdAt, since: sinceOf(trigger, createdAt, from), offset }),
      openings: new Openings(trigger, this.#options.calendars),
      decidedTo: (nextAt ?? Infinity) - 1,
      read: null,
      again: [],
      serial: known?.given.overlap === given.overlap ? known.serial : new Set(),
    })
  }

  #slots(
    { trigger }: NewSchedule,
    place: { readonly createdAt: number; readonly since: number; readonly offset: number },
  ): Slots | null {
    return trigger.kind === "after"
      ? null
      : new Slots(trigger, { ...place, calendars: this.#options.calendars })
  }

  /** A new pattern begins with its first instant after the moment in which it was read. */
  #checkFirst(
    given: NewSchedule,
    put: {
      readonly cursor: number
      readonly nextAt: number | null
      readonly createdAt: number
      readonly offset: number
    },
  ): void {
    const { trigger } = given
    const { cursor, nextAt, createdAt, offset } = put
    const now = cursor + 1
    // The store's clock was set back behind the creation, and before that nothing counts.
    if (now < createdAt) return
    // Named for the moment of the creation, which comes a little later.
    if (trigger.kind === "every" && trigger.startAt === null) return
    const isCron = trigger.kind === "cron"
    const since = sinceOf(trigger, createdAt, isCron ? now : now - 1)
    const slots = this.#slots(given, { createdAt, since, offset })
    const { startsAt = now, endsAt = Infinity, closed } = trigger
    const begin = Math.max(now, startsAt)
    const opens = closed === "hold" ? new Openings(trigger, this.#options.calendars).from(begin) : begin
    const first =
      slots === null
        ? opens !== null && opens <= endsAt
          ? opens
          : undefined
        : slots.after(trigger.kind === "at" ? -Infinity : isCron ? now : now - 1)?.at
    if (first === undefined ? nextAt !== null && nextAt < now + 3_600_000 : nextAt !== first)
      this.#violated(
        given,
        `is first due at ${nextAt === null ? "no time" : time(nextAt)}, and should be at ${time(first ?? 0)}`,
      )
  }

  #ledger(id: string): Ledger {
    const known = this.ledgers.get(id)
    if (known !== undefined) return known
    const made = {
      rows: new Map<number, Row>(),
      ranges: new Map<Row, Slots | null>(),
      skipped: 0,
      runsByHand: 0,
    }
    this.ledgers.set(id, made)
    return made
  }

  /** The row that stands for an instant. */
  #rowOf(id: string, at: number): Row | undefined {
    const ledger = this.ledgers.get(id)
    const own = ledger?.rows.get(at)
    if (own !== undefined || ledger === undefined) return own
    for (const [row, slots] of ledger.ranges)
      if (row.at <= at && at <= row.lastAt && slots?.at(at) !== undefined) return row
    return undefined
  }

  /** The first slot without a row. */
  #open(known: Known): Slot | undefined {
    for (;;) {
      const slot = known.slots?.after(known.decidedTo)
      if (slot === undefined || this.#rowOf(known.id, slot.at) === undefined) return slot
      known.decidedTo = slot.at
    }
  }

  #fire(fires: ReadonlyArray<Fire>, answers: ReadonlyArray<string>, call: Call): void {
    const created = new Map<string, Run>()
    for (const { before, after } of call.changes) if (before === null) created.set(after.id, after)
    for (const [place, fire] of fires.entries()) {
      const known = this.schedules.get(fire.scheduleId)
      const rows = this.ledgers.get(fire.scheduleId)?.rows
      const isTwice =
        new Set(fire.occurrences.map(({ at }) => at)).size < fire.occurrences.length ||
        fire.occurrences.some(({ at }) => rows?.has(at) === true)
      const right = known === undefined || known.version !== fire.version || isTwice ? "conflict" : "fired"
      if (answers[place] !== right)
        this.#options.violated(
          "I2",
          `${fire.scheduleId} ${answers[place]}, and should have ${right}: version ${fire.version} of ${known?.version}`,
        )
      if (answers[place] !== "fired" || known === undefined) continue
      this.#checkRuns(known, fire, created)
      this.#step(known, fire)
      this.#checkSerial(known, fire, call)
    }
    for (const id of created.keys())
      this.#options.violated("I2", `run ${id} was made by a step that was not done`)
  }

  /** Rows have a run that is made in the same step, or a reason. */
  #checkRuns(known: Known, fire: Fire, created: Map<string, Run>): void {
    let last: string | null = null
    for (const { at, runId, reason, nominalAt } of fire.occurrences) {
      if ((runId === null) === (reason === null))
        this.#violated(
          known,
          `has a row at ${time(at)} with ${runId === null ? "neither run nor reason" : "both run and reason"}`,
        )
      if (runId === null) continue
      last = runId
      const run = created.get(runId)
      if (run === undefined)
        this.#violated(known, `has a row at ${time(at)} whose run ${runId} was not made with it`)
      else if (
        run.scheduleId !== known.id ||
        run.job !== known.given.job ||
        run.nominalAt !== (nominalAt ?? at)
      )
        this.#violated(
          known,
          `has a run ${runId} of ${run.job} for ${time(run.nominalAt ?? 0)}, whose row says ${time(nominalAt ?? at)}`,
        )
      else if (run.dueAt < at)
        this.#violated(known, `has a run ${runId} that is due before ${time(at)}`, "I9")
    }
    for (const { id } of fire.runs) created.delete(id)
    if (fire.lastRunId !== last)
      this.#violated(known, `has ${fire.lastRunId} as its last run, which is ${last}`)
  }

  /** One step that was done. */
  #step(known: Known, fire: Fire): void {
    const { occurrences, cursor, nextAt } = fire
    const isSkip = occurrences.some(({ reason }) => reason === "skipped")
    const isByHand = this.#isByHand(known, fire)
    const ledger = this.#ledger(known.id)
    if (cursor < known.cursor)
      this.#violated(known, `has its cursor set back from ${time(known.cursor)} to ${time(cursor)}`)
    if (known.pausedAt !== null && occurrences.length > 0 && !isSkip && !isByHand)
      this.#violated(known, "is paused, and instants of it were decided")
    const isAgain = this.#goesOnAgain(known, fire)
    if (isByHand) {
      if (++ledger.runsByHand > this.#options.asked("runNow", known.id))
        this.#violated(known, `has a run at ${time(occurrences[0]?.at ?? 0)}, which is no instant of it`)
      if (this.#rowOf(known.id, occurrences[0]?.at ?? 0) !== undefined)
        this.#violated(known, "has an instant twice")
    } else {
      if (isSkip && ++ledger.skipped > this.#options.asked("skipNext", known.id))
        this.#violated(known, "has a skipped instant that nobody asked to skip")
      for (const row of occurrences) this.#checkRow(known, fire, row, isSkip)
      this.#checkCount(known, fire)
    }
    for (const row of occurrences) {
      ledger.rows.set(row.at, row)
      if (row.lastAt > row.at) ledger.ranges.set(row, known.slots)
      this.#options.counted?.(row.reason ?? "run", row.count)
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
    if (!this.#peaks.some((peak) => peak > this.#now))
      this.#violated(
        known,
        `goes on at ${time(nextAt)}, before ${time(known.nextAt)}, and no clock was set back`,
      )
    known.again.push(nextAt)
    return true
  }

  #isAgain({ given: { trigger }, again }: Known, at: number): boolean {
    return (
      trigger.kind === "every" && again.some((from) => at >= from && (at - from) % trigger.periodMillis === 0)
    )
  }

  /** The latest time that a planner can have seen which decides now. */
  #seen({ read }: Known): number {
    return Math.max(this.#now, ...this.#peaks.slice(read?.stepsBack ?? this.#peaks.length))
  }

  #checkCount({ given, runCount, id }: Known, { occurrences }: Fire): void {
    const { countMax = Infinity } = given.trigger
    const runs = occurrences.filter(({ runId }) => runId !== null).length
    if (runs > 0 && runCount + runs > countMax)
      this.#violated({ id }, `has ${runCount + runs} runs, of at most ${countMax}`)
  }

  #checkRow(known: Known, fire: Fire, row: Row, isSkip: boolean): void {
    const { at, lastAt, reason } = row
    // A fixed delay that is over in a millisecond that is decided already takes the next one; its run is due then.
    const isPushed = known.slots === null && at === known.cursor + 1
    if (lastAt > this.#seen(known) + (isPushed ? 1 : 0) && !isSkip)
      this.#violated(
        known,
        `has ${reason ?? "a run"} at ${time(lastAt)}, ${lastAt - this.#now} ms before it has come`,
        "I9",
      )
    if (known.slots === null) return this.#checkDelay(known, row)
    if (lastAt > at) return this.#checkRange(known, row)
    if (this.#rowOf(known.id, at) !== undefined) this.#violated(known, `has ${time(at)} twice`)
    if (this.#isAgain(known, at) && known.slots.at(at) === undefined) return
    // Somebody skipped the next one of a pattern that calendars leave nothing but a clock change in another year.
    if (at >= knownUntil) return
    const slot = known.slots.at(at)
    if (slot === undefined)
      return this.#violated(
        known,
        `has ${reason ?? "a run"} at ${time(at)}, which is no instant of ${JSON.stringify(known.given.trigger)}`,
      )
    const { closed, kind } = known.given.trigger
    const of = closed === "hold" && kind !== "at" ? slot.of.filter((each) => each > known.cursor) : slot.of
    const newest = of[of.length - 1] ?? at
    if (row.count !== Math.max(1, of.length) || row.nominalAt !== (newest === at ? null : newest))
      this.#violated(
        known,
        `says that ${time(at)} stands for ${row.count} instants up to ${time(row.nominalAt ?? at)}, which are ${of.length} up to ${time(newest)}`,
      )
    if (slot.closed !== (reason === "calendar" || reason === "blackout" ? reason : null))
      return this.#violated(
        known,
        `has ${reason ?? "a run"} at ${time(at)}, where its calendars say ${slot.closed ?? "open"}`,
      )
    if (reason === null) this.#checkRun(known, fire, at)
    else this.#checkReason(known, row)
  }

  #checkRange(known: Known, row: Row): void {
    const { at, lastAt, count, reason, runId } = row
    if (runId !== null) this.#violated(known, "has one run for many instants")
    // Somebody skipped the next one, and calendars close everything up to a year that the model does not know.
    if (lastAt >= knownUntil) return
    const slots = (known.slots?.between(at, lastAt) ?? []).filter(
      (slot) =>
        slot.closed === (reason === "calendar" || reason === "blackout" ? reason : null) &&
        this.#rowOf(known.id, slot.at) === undefined,
    )
    const instants = slots.reduce((sum, { of }) => sum + of.length, 0)
    // Where it went on in time that came again, its instants are others.
    const isRight = instants === count && slots[0]?.at === at && slots[slots.length - 1]?.at === lastAt
    if (!isRight && known.again.length === 0)
      this.#violated(
        known,
        `counts ${count} instants from ${time(at)} to ${time(lastAt)}, which are ${instants} from ${time(slots[0]?.at ?? 0)} to ${time(slots[slots.length - 1]?.at ?? 0)} without those that have a row`,
      )
    // What holds for the newest of them holds for the others.
    this.#checkReason(known, { ...row, at: lastAt })
  }

  /** Instants that could run, newer than this one and not after `until`; of these, those without a row. */
  #newer(known: Known, at: number, until: number, isFree = true): number {
    if (until <= at) return 0
    const slots = (known.slots?.between(at + 1, until) ?? []).filter(({ closed }) => closed === null)
    return isFree ? slots.filter((slot) => this.#rowOf(known.id, slot.at) === undefined).length : slots.length
  }

  #checkRun(known: Known, { occurrences }: Fire, at: number): void {
    const { given, waitsUntil, resumedAt, read } = known
    if (given.trigger.kind !== "at" && resumedAt !== null && at <= resumedAt)
      this.#violated(known, `has a run for ${time(at)}, which passed in a pause`)
    if (read === null)
      return this.#violated(known, `has a run for ${time(at)}, and nobody had read that it is due`)
    const {
      mode = "latest",
      windowMillis = given.trigger.kind === "at" ? Infinity : day,
      max = 100,
    } = given.catchUp ?? {}
    // What waited, in its turn.
    if (waitsUntil !== null && given.overlap === "queueAll") return
    const until = Math.min(waitsUntil ?? Infinity, read.now)
    const tooOld = until - (mode === "skip" ? lateMillis : windowMillis)
    if (at < tooOld)
      this.#violated(
        known,
        `has a run for ${time(at)}, ${until - at} ms late, with ${JSON.stringify(given.catchUp)}`,
      )
    const most = mode === "all" && given.overlap !== "cancelRunning" ? max : 1
    if (this.#newer(known, at, until) >= most)
      this.#violated(known, `has a run for ${time(at)}, and there were ${most} newer ones`)
    if (occurrences.filter(({ runId }) => runId !== null).length > most)
      this.#violated(known, `has more than ${most} runs in one step`)
  }

  #checkReason(known: Known, { at, reason }: Row): void {
    const { given, waitsUntil, resumedAt, read } = known
    const until = this.#seen(known)
    switch (reason) {
      case "missed": {
        const { mode = "latest", windowMillis = day, max = 100 } = given.catchUp ?? {}
        // Fresh ones that find the last run alive are skipped in one go, and the newest of them stands for all.
        const isSkipped = given.overlap === "skip" && read?.alive === true
        const most = mode === "all" && given.overlap !== "cancelRunning" && !isSkipped ? max : 1
        const isLate = until - at > (mode === "skip" ? Math.min(lateMillis, windowMillis) : windowMillis)
        // Another one may stand in for it that somebody gave its run before.
        if (!isLate && this.#newer(known, at, until, false) < most)
          this.#violated(
            known,
            `says that ${time(at)} was missed, ${until - at} ms later, with fewer than ${most} newer ones`,
          )
        return
      }
      case "overlap": {
        // Also where the one that waited has got its run by hand meanwhile.
        const waited = waitsUntil !== null && at > waitsUntil
        const isCrowd = given.overlap === "queueAll" && this.#newer(known, at, until) >= queueMax
        if (read?.alive !== true && !waited && !isCrowd)
          this.#violated(known, `says that ${time(at)} overlapped, and its last run was not alive`)
        // What waited did so by an overlap that was edited since.
        if (!waited && (given.overlap === "allow" || given.overlap === "cancelRunning"))
          this.#violated(known, `says that ${time(at)} overlapped, which it allows`)
        return
      }
      case "paused":
        if (resumedAt === null || at > resumedAt || given.trigger.kind === "at")
          this.#violated(known, `says that ${time(at)} passed in a pause`)
        return
      default:
    }
  }

  /** When a fixed delay is over: so long after the end of the last run, or when it was said to come. */
  #delayOver(known: Known): number {
    const {
      given: { trigger },
      cursor,
      lastRunId,
      openings,
      nextAt,
    } = known
    if (nextAt !== null || trigger.kind !== "after") return nextAt ?? Infinity
    const last = lastRunId === null ? undefined : this.#runs.get(lastRunId)
    const ended = last === undefined || this.#isAlive(known) ? null : last.endedAt
    const counted = Math.max((ended ?? cursor) + trigger.delayMillis, trigger.startsAt ?? -Infinity)
    return (trigger.closed === "hold" ? openings.from(counted) : counted) ?? Infinity
  }

  /** A run by hand: a single row beside the instants, and the schedule stands where it stood. */
  #isByHand(known: Known, { occurrences, cursor, nextAt, waitsUntil }: Fire): boolean {
    const [row] = occurrences
    if (row === undefined || occurrences.length > 1 || row.runId === null || cursor !== known.cursor)
      return false
    return known.slots === null
      ? nextAt === null && waitsUntil === row.at && row.at !== this.#delayOver(known)
      : nextAt === known.nextAt && waitsUntil === known.waitsUntil
  }

  /** A fixed delay: so long after the end of the last run, or when it was said to come. */
  #checkDelay(known: Known, { at, count, reason }: Row): void {
    const { given, cursor, openings } = known
    const { trigger } = given
    const due = this.#delayOver(known)
    if (count !== 1 || (at !== due && at !== Math.max(due, cursor + 1)))
      this.#violated(known, `has ${reason ?? "a run"} at ${time(at)}, and its delay was over at ${time(due)}`)
    if (due > (trigger.endsAt ?? Infinity)) this.#violated(known, `has ${time(at)}, after its end`)
    if (this.#rowOf(known.id, at) !== undefined) this.#violated(known, `has ${time(at)} twice`)
    const closed = trigger.closed === "hold" ? null : openings.closed(due)
    if (reason === "skipped") return
    const isOverlap = this.#isAlive(known) && given.overlap === "skip"
    const right =
      closed ?? (isOverlap || (known.read?.alive === true && reason === "overlap") ? "overlap" : null)
    if (reason !== right)
      this.#violated(known, `has ${reason ?? "a run"} at ${time(at)}, and should have ${right ?? "a run"}`)
  }

  /** After a step: the next instant is the first one without a row, and nothing is left out before it. */
  #checkStanding(known: Known, wasNextAt: number | null): void {
    if (known.slots === null) return
    const { nextAt, waitsUntil, cursor, runCount, given } = known
    const open = this.#open(known)
    const at = open?.at ?? Infinity
    if (nextAt !== null) {
      if (at < nextAt) {
        this.#violated(known, `goes on at ${time(nextAt)}, and there is no row for ${time(at)}`)
        known.decidedTo = nextAt - 1
      } else if (
        at !== nextAt &&
        nextAt !== wasNextAt &&
        // One that got its run by hand ahead of its turn is only passed by.
        this.#rowOf(known.id, nextAt) === undefined &&
        nextAt < known.decidedTo + 3_600_000 &&
        !this.#isAgain(known, nextAt)
      )
        this.#violated(
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
      this.#violated(known, `${isLost ? "waits" : "is over"}, and there is no row for ${time(at)}`)
      known.decidedTo = Math.max(cursor, at)
    }
  }

  /** One at a time, where its overlap says so. */
  #checkSerial(known: Known, fire: Fire, { changes }: Call): void {
    if (fire.lastRunId === null || known.given.overlap === "allow") return
    const states = new Map(changes.map(({ after }) => [after.id, after.state]))
    for (const id of known.serial) {
      const state = states.get(id) ?? this.#runs.get(id)?.state
      if (state === undefined || isFinal(state)) known.serial.delete(id)
    }
    known.serial.add(fire.lastRunId)
    const runs = fire.occurrences.filter(({ runId }) => runId !== null).length
    if (known.serial.size > 1 || runs > 1)
      this.#violated(
        known,
        `has ${[...known.serial].join(" and ")} alive with overlap "${known.given.overlap}"`,
      )
  }

  #backfill(fills: ReadonlyArray<Fill>, answers: ReadonlyArray<Filled>, call: Call): void {
    const created = new Set<string>()
    for (const { before, after } of call.changes) if (before === null) created.add(after.id)
    for (const [place, { scheduleId, at, runs }] of fills.entries()) {
      const answer = answers[place]
      const known = this.schedules.get(scheduleId)
      const there = known === undefined ? undefined : this.ledgers.get(scheduleId)?.rows.get(at)
      const right =
        known === undefined ? "unknown" : there !== undefined && there.runId !== null ? "exists" : "created"
      if (answer?.result !== right || (right === "exists" && answer.runId !== there?.runId))
        this.#options.violated(
          "I2",
          `${scheduleId} answers ${answer?.result} for ${time(at)}, which is ${right}`,
        )
      if (answer?.result !== "created" || known === undefined) continue
      if (this.#options.asked("backfill", scheduleId) === 0)
        this.#violated(known, "was filled, and nobody had asked for it")
      if (at > Math.max(this.#now, ...this.#peaks))
        this.#violated(known, `has a run for ${time(at)}, before it has come`, "I9")
      const runId = runs[runs.length - 1]?.id ?? null
      if (runId === null || !created.has(runId))
        this.#violated(known, `was filled at ${time(at)} without a run`)
      const isAlone = there !== undefined && (there.count === 1 || there.lastAt === at)
      const held = isAlone ? { ...there, lastAt: at } : { at, lastAt: at, count: 1, nominalAt: null }
      this.#fill(this.#ledger(scheduleId), { ...held, runId, reason: null }, there)
    }
  }

  /** Puts a row in the place of one of its own, or takes its instant out of the row that it shares. */
  #fill(ledger: Ledger, row: Row, own: Row | undefined): void {
    this.#options.counted?.("filled", 1)
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

const fresh = {
  pausedAt: null,
  resumedAt: null,
  runCount: 0,
  lastRunId: null,
}

const isMoving = ({ closed, only, except }: Trigger): boolean =>
  (closed === "next" || closed === "previous") && (only !== undefined || except !== undefined)

/** From where on the instants of a pattern count. */
const sinceOf = (trigger: Trigger, createdAt: number, cursor: number): number => {
  const isPlaced = [trigger.only, trigger.except, trigger.jitterMillis].some((each) => each !== undefined)
  if (!isPlaced || trigger.kind === "at") return -Infinity
  return isMoving(trigger) ? createdAt : cursor + 1
}

/** Its share of the jitter, which only its first instant tells. */
const offsetOf = (
  { trigger }: NewSchedule,
  nextAt: number | null,
  options: { readonly createdAt: number; readonly calendars: ReadonlyArray<Calendar> },
): number => {
  const { jitterMillis, only: _only, except: _except, ...pattern } = trigger
  if (jitterMillis === undefined || pattern.kind === "after" || nextAt === null) return 0
  const slots = new Slots(pattern, { ...options, since: -Infinity, offset: 0 })
  const near = slots.between(nextAt - jitterMillis + 1, nextAt)
  return nextAt - (near[near.length - 1]?.at ?? Infinity)
}

const time = (at: number): string => {
  const text = Number.isFinite(at) ? new Date(at).toISOString() : String(at)
  return text.slice(5).replace("T", " ")
}
