// Input schemas: any Standard Schema (zod, valibot, arktype), or one of Effect. Checked when a run is enqueued,
// so that a wrong input is refused where it is written, and again when it is run, as the code may have changed.
import * as Schema from "effect/Schema"
import { InvalidPayload } from "../../core/domain/Errors.ts"
import { errorInfo } from "../../core/domain/Payload.ts"

/** The part of the Standard Schema v1 interface that is used here (standardschema.dev). */
export interface StandardSchema<Output> {
  readonly "~standard": {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: ReadonlyArray<{
        readonly message: string
        readonly path?: ReadonlyArray<unknown> | undefined
      }>
    }

/** A schema of `Output`, Standard or Effect's. */
export type InputSchema<Output> = StandardSchema<Output> | Schema.Codec<Output, any>

/** Whether a value can be a job's `input`. */
export const isInputSchema = (value: unknown): value is InputSchema<unknown> =>
  Schema.isSchema(value) ||
  typeof (value as Partial<StandardSchema<unknown>> | null)?.["~standard"]?.validate === "function"

/** What is wanted where a schema is. */
export const schemaWanted = "a schema: a Standard Schema (zod, valibot, arktype) or one of Effect"

/** The value as the schema gives it; throws `InvalidPayload`, naming `field` and the place within the value. */
export const checkInput = async <Output>(
  field: string,
  schema: InputSchema<Output> | undefined,
  value: unknown,
  whose = "the job's",
): Promise<Output> => {
  if (schema === undefined) return value as Output
  try {
    return judged(field, await standardOf(schema)["~standard"].validate(value), whose)
  } catch (error) {
    throw error instanceof InvalidPayload ? error : cannotJudge(field, error, whose)
  }
}

/** The same for whoever cannot wait; a schema that must is refused. */
export const checkInputSync = <Output>(
  field: string,
  schema: InputSchema<Output> | undefined,
  value: unknown,
  whose = "the job's",
): Output => {
  if (schema === undefined) return value as Output
  let result: StandardResult<Output> | Promise<StandardResult<Output>>
  try {
    result = standardOf(schema)["~standard"].validate(value)
  } catch (error) {
    throw cannotJudge(field, error, whose)
  }
  if (!(result instanceof Promise)) return judged(field, result, whose)
  // Nobody waits for it: what it comes to must not be an unhandled rejection.
  result.catch(() => {})
  throw new InvalidPayload({
    field,
    reason: `${whose} schema answers later, and a synchronous transaction does not wait for it`,
    next: "Use `sendIn` and await it, or a schema that answers at once.",
  })
}

const standardOf = <Output>(schema: InputSchema<Output>): StandardSchema<Output> =>
  Schema.isSchema(schema)
    ? (Schema.toStandardSchemaV1(schema as Schema.Codec<Output, unknown>) as StandardSchema<Output>)
    : schema

const judged = <Output>(field: string, result: StandardResult<Output>, whose: string): Output => {
  if (result.issues === undefined) return result.value
  const reasons = result.issues.slice(0, 5).map(({ message, path }) => {
    const place = (path ?? []).map(segment).join(".")
    return place === "" ? message : `${place}: ${message}`
  })
  throw new InvalidPayload({
    field,
    reason: `it does not fit ${whose} schema (${reasons.join("; ").replaceAll("\n", " ")})`,
    next: "Correct the value, or the schema.",
  })
}

const cannotJudge = (field: string, error: unknown, whose: string): InvalidPayload =>
  new InvalidPayload({
    field,
    reason: `${whose} schema cannot judge it (${errorInfo(error).message})`,
    next: "Correct the schema: it should answer with issues, and not throw.",
  })

const segment = (part: unknown): string =>
  String(typeof part === "object" && part !== null && "key" in part ? part.key : part)
