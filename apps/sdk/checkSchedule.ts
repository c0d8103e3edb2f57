// A trigger as it is written, of a job's `on` or of a schedule that a program makes, to a schedule that can be saved.
import * as Result from "effect/Result"
import { InvalidInput, InvalidSchedule } from "../../core/domain/Errors.ts"
import { encodePayload } from "../../core/domain/Payload.ts"
import type { NewSchedule } from "../../core/domain/Schedule.ts"
import {
  checkCatchUp,
  checkHold,
  checkLimits,
  checkOverlap,
  checkPlacement,
} from "../../core/engine/ScheduleChecks.ts"
import type { CronDialects } from "../../core/ports/CronDialect.ts"
import { nextAfter } from "../../core/trigger/Cron.ts"
import { parseCronTrigger } from "../../core/trigger/CronFields.ts"
import { type Flow, isFlow } from "./flow.ts"
import { checkInput } from "./input.ts"
import type { Job } from "./job.ts"
import { refuse } from "./send.ts"
import type { TriggerSpec } from "./triggers.ts"

/** A job or a flow in words. */
export const placeOf = (member: Job<any, any> | Flow<any, any>): string =>
  `${isFlow(member) ? "flow" : "job"} "${member.name}"`

/** The schedule, but for its id and where it is from; throws the first refusal. `field` is the place of the trigger. */
export const checkSchedule = async (
  field: string,
  member: Job<any, any> | Flow<any, any>,
  spec: TriggerSpec,
  dialects: CronDialects,
): Promise<Omit<NewSchedule, "id" | "fromConfig">> => {
  const needs = isFlow(member) ? [] : Object.keys(member.options.needs ?? {})
  const isHeld = isFlow(member) && member.options.holdOnFailure === true
  if (typeof spec?.parse !== "function") {
    throw Result.getOrThrow(Result.flip(refuse(field, spec, "one of cron(), every(), after(), at()")))
  }
  const pattern = Result.getOrThrow(
    spec.parse(field, dialects) as Result.Result<NewSchedule["trigger"], InvalidSchedule>,
  )
  checkComes(field, pattern)
  // A schedule whose runs could only fail is refused now, and not at three in the morning.
  await checkInput(`${field}.input`, member.options.input, spec.options.input)
  const overlap = Result.getOrThrow(
    checkOverlap(`${field}.overlap`, spec.options.overlap ?? (isHeld ? "queueOne" : undefined)),
  )
  const hold = Result.getOrThrow(checkHold(field, isHeld, overlap))
  if (overlap === "cancelRunning" && needs.length > 0) {
    throw new InvalidInput({
      field: `${field}.overlap`,
      reason: "a cancel ends the run of this job only, and those of the jobs that it needs would go on",
      next: 'Give another overlap, such as "queueOne".',
    })
  }
  const placed = checkPlacement(field, pattern, spec.options) as Result.Result<
    NewSchedule["trigger"],
    InvalidSchedule
  >
  return {
    job: member.name,
    trigger: {
      ...Result.getOrThrow(Result.flatMap(placed, (trigger) => checkLimits(field, trigger, spec.options))),
      ...hold,
    },
    input: Result.getOrThrow(encodePayload(`${field}.input`, spec.options.input)),
    overlap,
    ...Result.getOrThrow(checkCatchUp(field, spec.options)),
  }
}

/** Refuses a date that never comes, such as 30 February: it would start nothing, and nobody would know. */
const checkComes = (field: string, pattern: NewSchedule["trigger"]): void => {
  if (pattern.kind !== "cron" || pattern.dialect !== undefined) return
  if (nextAfter(Result.getOrThrow(parseCronTrigger(pattern)), 0) !== null) return
  throw new InvalidSchedule({
    field: `${field}.cron`,
    reason: "it never runs: no date up to the end of 2199 matches",
    next: "Check day, month and weekday together.",
  })
}
