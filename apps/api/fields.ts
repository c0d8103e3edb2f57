// The fields that many routes take, with their limits.
import * as Schema from "effect/Schema"

const lengthOf = (max: number) => Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(max))

// Not every database has the character NUL in a text.
const withoutNul = Schema.isPattern(/^[^\0]*$/, { expected: "a text without NUL" })

/** A text of 1 to so many characters. */
export const text = (max: number, about: string) =>
  lengthOf(max).check(withoutNul).annotate({ description: about })

/** The id of a run. What is none is not there, and goes to no store. */
export const runId = lengthOf(36).annotate({ description: "The id of a run: a UUIDv7 in lower case." })

/** The name of a job, flow or schedule; a schedule is called as its job. */
export const name = text(128, "A name, as the config says it.")

/** An instant in epoch milliseconds. */
export const instant = Schema.Int.annotate({ description: "An instant in epoch milliseconds." })

/** The same, or `null`. */
export const instantOrNull = Schema.NullOr(instant)

/** In a query: a whole number between limits. */
export const count = (minimum: number, maximum: number, about: string) =>
  Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum, maximum })).annotate({
    description: about,
  })

/** In a query: `true` or `false`. */
export const flag = (about: string) => Schema.Literals(["true", "false"]).annotate({ description: about })

/** What every list takes. */
export const page = {
  limit: Schema.optionalKey(count(1, 200, "How many at most; default 50.")),
  cursor: Schema.optionalKey(
    text(512, "Where to go on: the `cursor` of the page before. It holds for the same filter only."),
  ),
}

/** How many a list answers without a word. */
export const pageUsual = 50

/** What every list answers. */
export const listOf = <S extends Schema.Codec<any, any>>(item: S) =>
  Schema.Struct({
    items: Schema.Array(item),
    /** `null`: this was the last page. */
    cursor: Schema.NullOr(Schema.String).annotate({
      description: "For the next page; `null`: there is none.",
    }),
  })

/** Any JSON. */
export const json = Schema.Unknown.annotate({ description: "Any JSON." })
