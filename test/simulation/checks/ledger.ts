// I2: no occurrence is lost, doubled, early, silent or unexplained. A model of the ledger follows each call to the
// store; when the storm is over, what is due has to be decided in time (I10).
import type { Occurrence, ScheduleRow } from "../../../core/domain/Schedule.ts"
import type { Call } from "../Ground.ts"
import type { Schedules } from "../Schedules.ts"
import type { Check, Scene } from "./Check.ts"
import { LedgerModel } from "./ledgerModel.ts"

// What was under way when the storm ended has come to its end.
const calmMillis = 5000
// Beyond one poll, for the way to the store.
const noticeMillis = 2000

/** The check; `isUp` tells whether a node could decide. */
export const ledgerCheck = (
  { watch, ground, swarm, world }: Scene,
  { asked, calendars }: Schedules,
  isUp: () => boolean,
): Check => {
  const model = new LedgerModel({
    calendars,
    asked,
    violated: (invariant, what) => watch.violated(invariant, what),
    counted: (_what, count) => {
      watch.counters.occurrences += count
    },
  })
  /** Since when each version of a schedule is due. */
  let dueSince = new Map<string, number>()

  const checkNotice = (): void => {
    const now = world.elapsed
    const since = new Map<string, number>()
    if (isUp() && now > swarm.activeMillis + calmMillis) {
      for (const name of model.due(ground.now())) {
        const first = dueSince.get(name) ?? now
        since.set(name, first)
        if (now - first > swarm.pollMillis + noticeMillis)
          watch.violated("I10", `${name} is due for ${now - first} ms, and nobody decides`)
      }
    }
    dueSince = since
  }

  return {
    saw: (call, answer) => {
      if (/[sS]chedule|fire|backfill/.test(call.operation)) watch.tell("ledger", () => told(call, answer))
      model.saw(call, answer)
    },
    tick: checkNotice,
    end: () =>
      model.compare(ground.driver.schedules() as ReadonlyArray<ScheduleRow>, (scheduleId) => {
        const all: Array<Occurrence> = []
        for (let before = Infinity; ;) {
          const page = ground.driver.occurrences({
            scheduleId,
            before,
            limit: 200,
          }) as ReadonlyArray<Occurrence>
          all.push(...page)
          const last = page[page.length - 1]
          if (last === undefined || page.length < 200) return all
          before = last.at
        }
      }),
  }
}

const told = ({ operation, args, now }: Call, answer: unknown): string => {
  return `${operation} at ${now}: ${JSON.stringify(args)} -> ${JSON.stringify(answer)}`
}
