// How fast bulk work may go, as people write it: `50/s`, `30/m`.
import * as Result from "effect/Result"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import { pageMax } from "../../core/ports/StoreLimits.ts"

/** Per second: `50/s` is 50, `30/m` is 0.5. Refused, naming `field`: other text, less than 1/m, more than 10000/s. */
export const parseRate = (field: string, text: string): Result.Result<number, InvalidInput> => {
  const match = /^(\d{1,6})\/([sm])$/.exec(text)
  const perSecond = match === null ? Number.NaN : Number(match[1]) / (match[2] === "s" ? 1 : 60)
  if (perSecond >= 1 / 60 && perSecond <= 10_000) return Result.succeed(perSecond)
  return Result.fail(
    new InvalidInput({
      field,
      reason: `${quote(text)} is no rate`,
      next: "Write how many in a second or a minute, from 1/m to 10000/s, such as 50/s.",
    }),
  )
}

/** How many to do at once: what a second allows, at least 1, at most a page. */
export const pageAt = (perSecond: number | null): number =>
  perSecond === null ? pageMax : Math.min(pageMax, Math.max(1, Math.floor(perSecond)))

/** How long so many take at a rate, in milliseconds. */
export const millisFor = (count: number, perSecond: number | null): number =>
  perSecond === null ? 0 : Math.ceil((count * 1_000) / perSecond)
