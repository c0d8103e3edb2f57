// The attempts that run here: their time limits, those that do not obey, and what becomes of them. The end of an attempt
// is reported once; a handler that goes on after it takes its slot for a while longer, as it may still do something.
import type { Outcome } from "../../core/domain/Outcome.ts"
import type { ErrorInfo } from "../../core/domain/Run.ts"
import type { StopReason } from "../../core/ports/Executor.ts"
import type { Assign } from "../../core/protocol/Message.ts"
import { keyOf } from "../../core/protocol/Shapes.ts"
import { givenOf } from "./Given.ts"
import type { Place, Running } from "./Place.ts"
import { deaf, timedOut, unheard } from "./stopped.ts"
import { after, monotonic } from "./Time.ts"
import type { AttemptView, WorkerEvent } from "./WorkerEvent.ts"

/** How long the slot of a handler that cannot be ended is kept after it was told to stop, in milliseconds. */
export const strayMillisMax = 30_000

/** What attempts are given. */
export interface AttemptsOptions {
  readonly place: Place
  /** How long a handler that was told to stop may take, in milliseconds. */
  readonly stopGraceMillis: number
  /** The attempt has ended; `runsOn`: its handler has not. */
  readonly ended: (attempt: AttemptView, outcome: Outcome, runsOn: boolean) => void
  /** A handler whose attempt had ended before is gone too. */
  readonly gone: (attempt: AttemptView) => void
  readonly tell: (event: WorkerEvent) => void
}

interface Attempt {
  readonly view: AttemptView
  readonly startedAt: number
  readonly timeoutMillis: number | null
  beganAt: number | null
  running: Running | undefined
  told: StopReason | null
  /** Its end was reported. */
  over: boolean
  /** Its handler ended, or is waited for no more. */
  gone: boolean
  readonly timers: Set<() => void>
}

/** Runs attempts. */
export class Attempts {
  readonly #options: AttemptsOptions
  readonly #all = new Map<string, Attempt>()

  constructor(options: AttemptsOptions) {
    this.#options = options
  }

  /** Calls the handler; `waitedMillis` have passed since the assignment came. */
  begin(assign: Assign, waitedMillis: number): void {
    const { run, job, attempt, token, timeoutMillis } = assign
    const each: Attempt = {
      view: { run, job, attempt, token },
      startedAt: monotonic(),
      timeoutMillis,
      beganAt: null,
      running: undefined,
      told: null,
      over: false,
      gone: false,
      timers: new Set(),
    }
    this.#all.set(keyOf(assign), each)
    each.running = this.#options.place.start(
      givenOf(assign, waitedMillis),
      () => this.#began(each),
      (outcome) => this.#done(each, outcome),
    )
  }

  /** Tells a handler to stop. */
  stop(run: string, token: number, reason: StopReason): void {
    const each = this.#all.get(keyOf({ run, token }))
    if (each === undefined || each.gone) return
    const isFirst = each.told === null
    each.told ??= reason
    if (isFirst) this.#options.tell({ kind: "stopping", reason, ...each.view })
    each.running?.stop(reason)
    // A drain hands the run back at once.
    if (reason === "drain") this.#finish(each, { kind: "released" })
    // Of its limit of time the server may tell before our own timer.
    if (reason === "timeout") this.#finish(each, timedOut(each.timeoutMillis))
    if (isFirst) this.#watch(each, reason)
  }

  /** The attempt as it is known here. */
  viewOf(run: string, token: number): AttemptView | undefined {
    const each = this.#all.get(keyOf({ run, token }))
    return each === undefined || each.over ? undefined : each.view
  }

  /** Sets no timer any more. */
  close(): void {
    for (const each of this.#all.values()) forget(each)
    this.#all.clear()
  }

  #began(each: Attempt): void {
    each.beganAt = monotonic()
    this.#options.tell({ kind: "started", ...each.view })
    const { timeoutMillis } = each
    if (timeoutMillis === null || each.over) return
    this.#after(each, timeoutMillis, () => this.stop(each.view.run, each.view.token, "timeout"))
  }

  #done(each: Attempt, outcome: Outcome): void {
    if (each.gone) return
    // A handler that blocks the event loop ends before its timer can fire, and is late all the same.
    const { beganAt, timeoutMillis } = each
    const isLate = timeoutMillis !== null && beganAt !== null && monotonic() - beganAt > timeoutMillis
    this.#gone(each, isLate ? timedOut(timeoutMillis) : outcome)
  }

  /** A handler that does not obey keeps neither its run waiting nor its slot for ever. */
  #watch(each: Attempt, reason: StopReason): void {
    const { stopGraceMillis } = this.#options
    this.#after(each, stopGraceMillis, () => {
      // The end of the others is decided already, or by what the server says of their leases.
      if (reason === "cancelled") this.#finish(each, deaf)
      each.running?.kill?.()
    })
    this.#after(each, Math.max(strayMillisMax, stopGraceMillis), () => {
      const error = `It was told to stop (${reason}) and did not; its slot is given to others`
      this.#options.tell({ kind: "trouble", doing: `wait for the handler of "${each.view.job}"`, error })
      this.#gone(each, unheard(reason))
    })
  }

  /** Ends the attempt once, before its handler. */
  #finish(each: Attempt, outcome: Outcome): void {
    if (each.over) return
    each.over = true
    this.#tellEnd(each, outcome)
    this.#options.ended(each.view, outcome, true)
  }

  /** The handler is gone, and with it its attempt, if that has not ended before. */
  #gone(each: Attempt, outcome: Outcome): void {
    if (each.gone) return
    each.gone = true
    forget(each)
    this.#all.delete(keyOf(each.view))
    if (each.over) return this.#options.gone(each.view)
    each.over = true
    this.#tellEnd(each, outcome)
    this.#options.ended(each.view, outcome, false)
  }

  #tellEnd(each: Attempt, outcome: Outcome): void {
    const error: ErrorInfo | null = outcome.kind === "failed" ? outcome.error : null
    const durationMillis = monotonic() - (each.beganAt ?? each.startedAt)
    this.#options.tell({ kind: "ended", ...each.view, outcome: outcome.kind, error, durationMillis })
  }

  #after(each: Attempt, millis: number, callback: () => void): void {
    const takeBack = after(millis, () => {
      each.timers.delete(takeBack)
      callback()
    })
    each.timers.add(takeBack)
  }
}

const forget = (each: Attempt): void => {
  for (const takeBack of each.timers) takeBack()
  each.timers.clear()
}
