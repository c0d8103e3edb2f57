// Schedules that are saved or edited: where a new pattern begins.
import type { Calendar } from "../../../core/domain/Calendar.ts"
import type { NewSchedule, PutSchedule, Trigger } from "../../../core/domain/Schedule.ts"
import { type LedgerState, time } from "./LedgerState.ts"
import { Openings, Slots } from "./patterns.ts"

/** Takes in schedules that are saved. */
export class SavedSchedules {
  readonly #state: LedgerState

  constructor(state: LedgerState) {
    this.#state = state
  }

  put({ cursor, nextAt, createdAt: begun, zoneData: _zoneData, ...given }: PutSchedule): void {
    const known = this.#state.schedules.get(given.id)
    const text = (value: unknown): string => JSON.stringify(value) ?? ""
    const keepsTime = known !== undefined && text(known.given.trigger) === text(given.trigger)
    if (keepsTime && text(known.given) === text(given)) return
    if (keepsTime) {
      if (known.given.overlap !== given.overlap) known.serial.clear()
      known.given = given
      known.version++
      return
    }
    const createdAt = known?.createdAt ?? begun
    const { trigger, id } = given
    const offset = offsetOf(given, nextAt, {
      createdAt,
      calendars: this.#state.options.calendars,
    })
    if (offset < 0 || offset > Math.max(0, (trigger.jitterMillis ?? 0) - 1))
      this.#state.violated(
        given,
        `is first due at ${time(nextAt ?? 0)}, which is no instant of it with any jitter`,
      )
    this.#checkFirst(given, { cursor, nextAt, createdAt, offset })
    const from = Math.min(known?.cursor ?? cursor, cursor)
    this.#state.schedules.set(id, {
      ...(known ?? fresh),
      id,
      given,
      version: (known?.version ?? 0) + 1,
      cursor: from,
      nextAt,
      waitsUntil: null,
      createdAt,
      slots: this.#slots(given, { createdAt, since: sinceOf(trigger, createdAt, from), offset }),
      openings: new Openings(trigger, this.#state.options.calendars),
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
      : new Slots(trigger, { ...place, calendars: this.#state.options.calendars })
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
    const isCron = trigger.kind === "cron"
    const since = sinceOf(trigger, createdAt, isCron ? now : now - 1)
    const slots = this.#slots(given, { createdAt, since, offset })
    const { startsAt = now, endsAt = Infinity, closed } = trigger
    const begin = Math.max(now, startsAt)
    const opens = closed === "hold" ? new Openings(trigger, this.#state.options.calendars).from(begin) : begin
    const first =
      slots === null
        ? opens !== null && opens <= endsAt
          ? opens
          : undefined
        : slots.after(trigger.kind === "at" ? -Infinity : isCron ? now : now - 1)?.at
    if (first === undefined ? nextAt !== null && nextAt < now + 3_600_000 : nextAt !== first)
      this.#state.violated(
        given,
        `is first due at ${nextAt === null ? "no time" : time(nextAt)}, and should be at ${time(first ?? 0)}`,
      )
  }
}

const fresh = {
  pausedAt: null,
  resumedAt: null,
  runCount: 0,
  lastRunId: null,
}

/** Whether what calendars close moves to another day. */
export const isMoving = ({ closed, only, except }: Trigger): boolean =>
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
