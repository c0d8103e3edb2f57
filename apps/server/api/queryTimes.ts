// Instants and spans in a query: as people write them everywhere else, or as digits, which are milliseconds.
import * as Result from "effect/Result"
import type { InvalidInput } from "../../../core/domain/Errors.ts"
import { parseInstant, parseSpan } from "../../../core/domain/TimeSpan.ts"
import { refuse } from "../problems.ts"

const numbered = (text: string): string | number => (/^-?\d{1,16}$/.test(text) ? Number(text) : text)

/** The instant of a parameter in epoch milliseconds; throws `invalidRequest`. */
export const instantOf = (name: string, text: string | undefined): number | undefined =>
  text === undefined ? undefined : taken(name, parseInstant(name, numbered(text)))

/** The span of a parameter in milliseconds; throws `invalidRequest`, also for one above `max`. */
export const spanOf = (name: string, text: string | undefined, max: number): number | undefined => {
  if (text === undefined) return undefined
  const millis = taken(name, parseSpan(name, numbered(text)))
  if (millis <= max) return millis
  throw wrong(name, `It is more than ${max} ms: ask for less, and again where that is not enough.`)
}

const taken = (name: string, parsed: Result.Result<number, InvalidInput>): number => {
  if (Result.isSuccess(parsed)) return parsed.success
  throw wrong(name, parsed.failure.message)
}

const wrong = (name: string, detail: string) =>
  refuse("invalidRequest", detail, { errors: [{ pointer: `/query/${name}`, detail }] })
