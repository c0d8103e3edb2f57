// What a field of a message may hold: an Effect Schema, for types, JSON Schema and people, and beside it `read`, a
// plain function that takes the same values. It needs a third to a half of the time (0.1 to 0.5 us for a heartbeat or
// a result on Node, against 0.4 to 0.9) on every host, names the field and the reason without a tree of issues, copies
// what it knows, so that unknown fields end here, and never recurses deeper than the field itself, whatever was sent.
// A property test holds the two together.
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { payloadBytesMax, utf8Length } from "../domain/Payload.ts"
import { nestsDeeper } from "./Depth.ts"
import { idMax, payloadDepthMax } from "./Limits.ts"

/** Why a value was refused, and where. */
export class Problem {
  /** Path of the field, such as `outcome.error.name` or `acks[3].run`; empty: the value itself. */
  readonly path: string
  /** In lower case, to stand after the path. */
  readonly reason: string

  constructor(reason: string, path = "") {
    this.reason = reason
    this.path = path
  }

  within(key: string): Problem {
    const joint = this.path === "" || this.path.startsWith("[") ? "" : "."
    return new Problem(this.reason, `${key}${joint}${this.path}`)
  }
}

/** A kind of value, checked in two ways that agree. */
export interface Field<out A> {
  readonly schema: Schema.Codec<A, any>
  /** The value as it is kept, without unknown fields; or why it is refused. Never throws. */
  readonly read: (value: unknown) => A | Problem
  /** May be absent. */
  readonly optional?: true
}

/** What a field holds. */
export type TypeOf<F> = F extends Field<infer A> ? A : never

/** A field that may be absent. */
export interface OptionalField<out A> extends Field<A> {
  readonly optional: true
}

type Fields = Readonly<Record<string, Field<any>>>
type OptionalNames<F extends Fields> = {
  [K in keyof F]: F[K] extends { readonly optional: true } ? K : never
}[keyof F]
type Simplify<A> = { readonly [K in keyof A]: A[K] }
/** The type of an object of these fields. */
export type ObjectOf<F extends Fields> = Simplify<
  { readonly [K in Exclude<keyof F, OptionalNames<F>>]: TypeOf<F[K]> } & {
    readonly [K in OptionalNames<F>]?: TypeOf<F[K]>
  }
>

const as = <A>(schema: Schema.Codec<A, any>, read: (value: unknown) => A | Problem): Field<A> => ({
  schema,
  read,
})

/** The same field with a sentence for the published schema. */
export const about = <F extends Field<any>>(description: string, field: F): F => ({
  ...field,
  schema: field.schema.annotate({ description }),
})

/** A field that may be absent. */
export const optional = <A>(field: Field<A>): OptionalField<A> => ({ ...field, optional: true })

/** A text of `min` to `max` characters (code points). */
export const text = (max: number, min = 0): Field<string> =>
  as(Schema.String.check(Schema.isBetweenCodePoints(min, max)), (value) => {
    if (typeof value !== "string") return new Problem("is no text")
    // A code point takes one or two units, so that a short text needs no count.
    if (value.length > max && codePoints(value) > max) return new Problem(`has more than ${max} characters`)
    if (value.length < min) return new Problem("is empty")
    return value
  })

const codePoints = (value: string): number => {
  let count = value.length
  for (let at = 0; at + 1 < value.length; at++) {
    const unit = value.charCodeAt(at)
    if (unit < 0xd800 || unit > 0xdbff) continue
    const next = value.charCodeAt(at + 1)
    if (next < 0xdc00 || next > 0xdfff) continue
    count--
    at++
  }
  return count
}

const matching = (pattern: RegExp, reason: string): Field<string> =>
  as(Schema.String.check(Schema.isPattern(pattern)), (value) =>
    typeof value === "string" && pattern.test(value) ? value : new Problem(reason),
  )

/** An id of a message, a run, a session: printable ASCII without blanks. */
export const id: Field<string> = matching(
  /^[!-~]{1,64}$/u,
  `is no id (1 to ${idMax} printable ASCII characters without blanks)`,
)

/** A name of a job, queue, worker or step: without control characters, or blanks at its ends. */
export const name: Field<string> = matching(
  /^[^\s\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]{0,126}[^\s\u0000-\u001f\u007f-\u009f])?$/u,
  "is no name (1 to 128 characters, no control characters, no blanks at its ends)",
)

const wordPattern = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/u

/** A short machine-readable word, such as a capability or the code of an error. */
export const word: Field<string> = matching(
  wordPattern,
  "is no word (a letter, then up to 63 of A-Z a-z 0-9 . _ -)",
)

/** A whole number. */
export const whole = (minimum: number, maximum: number = Number.MAX_SAFE_INTEGER): Field<number> =>
  as(Schema.Int.check(Schema.isBetween({ minimum, maximum })), (value) =>
    Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum
      ? (value as number)
      : new Problem(`is no whole number from ${minimum} to ${maximum}`),
  )

/** Any finite number in these bounds. */
export const number = (minimum: number, maximum: number): Field<number> =>
  as(Schema.Finite.check(Schema.isBetween({ minimum, maximum })), (value) =>
    typeof value === "number" && value >= minimum && value <= maximum
      ? value
      : new Problem(`is no number from ${minimum} to ${maximum}`),
  )

/** An instant or span in whole milliseconds: up to the last instant of a JavaScript date. */
export const millis: Field<number> = whole(0, 8.64e15)

export const boolean: Field<boolean> = as(Schema.Boolean, (value) =>
  typeof value === "boolean" ? value : new Problem("is neither true nor false"),
)

/** One of these texts. */
export const oneOf = <const A extends string>(...values: ReadonlyArray<A>): Field<A> => {
  const known: ReadonlySet<unknown> = new Set(values)
  return as(Schema.Literals(values) as unknown as Schema.Codec<A>, (value) =>
    known.has(value)
      ? (value as A)
      : new Problem(`is none of ${values.map((each) => `"${each}"`).join(", ")}`),
  )
}

export const nullable = <A>(field: Field<A>): Field<A | null> =>
  as(Schema.NullOr(field.schema), (value) => (value === null ? null : field.read(value)))

/** A list of at most `max`. */
export const list = <A>(field: Field<A>, max: number): Field<ReadonlyArray<A>> =>
  as(Schema.Array(field.schema).check(Schema.isMaxLength(max)), (value) => {
    if (!Array.isArray(value)) return new Problem("is no list")
    if (value.length > max) return new Problem(`has more than ${max} entries`)
    const out: Array<A> = []
    for (let at = 0; at < value.length; at++) {
      const got = field.read(value[at])
      if (got instanceof Problem) return got.within(`[${at}]`)
      out.push(got)
    }
    return out
  })

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Values by words; at most `max`. A word is no `__proto__`, so the result is safe to read. */
export const byWord = <A>(field: Field<A>, max: number): Field<{ readonly [word: string]: A }> =>
  as(
    Schema.Record(Schema.String, field.schema as Schema.Codec<any>).check(
      Schema.isPropertyNames(Schema.String.check(Schema.isPattern(wordPattern))),
      Schema.isBetweenProperties(0, max),
    ) as unknown as Schema.Codec<{ readonly [word: string]: A }>,
    (value) => {
      if (!isObject(value)) return new Problem("is no object")
      const names = Object.keys(value)
      if (names.length > max) return new Problem(`has more than ${max} entries`)
      const out: Array<readonly [string, A]> = []
      for (const each of names) {
        const key = word.read(each)
        if (key instanceof Problem) return key.within(each.slice(0, idMax))
        const got = field.read(value[each])
        if (got instanceof Problem) return got.within(each)
        out.push([each, got])
      }
      return Object.fromEntries(out)
    },
  )

/** Label values: text, number or truth. */
export const scalar: Field<string | number | boolean> = as(
  Schema.Union([Schema.String.check(Schema.isBetweenCodePoints(0, 128)), Schema.Finite, Schema.Boolean]),
  (value) => {
    if (typeof value === "string") return label.read(value)
    return typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))
      ? value
      : new Problem("is neither text, number nor boolean")
  },
)
const label = text(128)

/** An object of these fields; others are ignored. */
export const object = <const F extends Fields>(fields: F): Field<ObjectOf<F>> => {
  const names = Object.keys(fields)
  const each = Object.values(fields)
  const schemas = Object.fromEntries(
    names.map((key, at) => {
      const { schema, optional: absent } = each[at] as Field<any>
      return [key, absent === true ? Schema.optionalKey(schema) : schema]
    }),
  )
  const schema = Schema.Struct(schemas) as unknown as Schema.Codec<ObjectOf<F>>
  return as(schema, (value) => {
    if (!isObject(value)) return new Problem("is no object")
    const out: Record<string, unknown> = {}
    for (let at = 0; at < names.length; at++) {
      const key = names[at] as string
      const field = each[at] as Field<any>
      // Own fields only: nothing of a prototype is ever taken for what was sent.
      const raw = value[key]
      if (raw === undefined || !Object.hasOwn(value, key)) {
        if (field.optional === true) continue
        return new Problem("is missing", key)
      }
      const got: unknown = field.read(raw)
      if (got instanceof Problem) return got.within(key)
      out[key] = got
    }
    return out as ObjectOf<F>
  })
}

/** One of several objects, told apart by their `kind`. */
export const byKind = <const F extends Readonly<Record<string, Fields>>>(
  kinds: F,
): Field<{ readonly [K in keyof F]: { readonly kind: K } & ObjectOf<F[K]> }[keyof F]> => {
  const readers = new Map(
    Object.entries(kinds).map(([kind, fields]) => [kind, object({ kind: oneOf(kind), ...fields })]),
  )
  const schemas = [...readers.values()].map(({ schema }) => schema)
  const names = [...readers.keys()].map((kind) => `"${kind}"`).join(", ")
  return as(Schema.Union(schemas) as any, (value) => {
    if (!isObject(value)) return new Problem("is no object")
    if (!Object.hasOwn(value, "kind")) return new Problem("is missing", "kind")
    const reader = typeof value["kind"] === "string" ? readers.get(value["kind"]) : undefined
    return reader === undefined ? new Problem(`is none of ${names}`, "kind") : (reader.read(value) as any)
  })
}

/** Why a text is no payload; `undefined`: it is one. */
const payloadProblem = (value: string): string | undefined => {
  const tooLong =
    value.length > payloadBytesMax ||
    (value.length * 3 > payloadBytesMax && utf8Length(value) > payloadBytesMax)
  if (tooLong) return `has more than ${payloadBytesMax} bytes in UTF-8`
  if (nestsDeeper(value, payloadDepthMax)) return `nests deeper than ${payloadDepthMax}`
  return Result.isFailure(Result.try((): unknown => JSON.parse(value))) ? "is no JSON text" : undefined
}

/** JSON text of an input or output, passed on as it is; `null`: none. */
export const payload: Field<string | null> = nullable(
  as(
    Schema.String.check(
      Schema.isBetweenCodePoints(1, payloadBytesMax),
      Schema.makeFilter((value: string) => payloadProblem(value) ?? true),
    ),
    (value) => {
      if (typeof value !== "string") return new Problem("is neither JSON text nor null")
      const reason = payloadProblem(value)
      return reason === undefined ? value : new Problem(reason)
    },
  ),
)
