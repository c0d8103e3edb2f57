// The body of a schedule, as what a config would say.
import type { ScheduleBody } from "../../api/scheduleShapes.ts"
import type { TimeSpan } from "../../../core/domain/TimeSpan.ts"
import type { ScheduleRequest } from "../../sdk/scheduleCalls.ts"
import { after, at, cron, every, type TriggerOptions, type TriggerSpec } from "../../sdk/triggers.ts"

type Body = typeof ScheduleBody.Type

/** Times and spans are texts of any kind here, and checked by what reads a config. */
export const requestOf = ({ job, on, ...options }: Body): ScheduleRequest => ({
  job,
  on: specOf(on, options as TriggerOptions),
})

const specOf = (on: Body["on"], options: TriggerOptions): TriggerSpec => {
  if ("cron" in on) {
    const { cron: text, ...zone } = on
    return cron(text, { ...options, ...zone })
  }
  if ("every" in on) {
    const { every: period, ...start } = on
    return every(period as TimeSpan, { ...options, ...start })
  }
  return "after" in on ? after(on.after as TimeSpan, options) : at(on.at, options)
}
