// Outputs with a schema: written as it says when a step returns, and read as it says by each step that needs it. Both,
// because code changes between the two, and because somebody may have given an output by hand.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { InvalidPayload } from "../../core/domain/Errors.ts"
import { decodePayload, encodePayload } from "../../core/domain/Payload.ts"
import { checkInput, type InputSchema } from "./input.ts"

/** An output as it is kept; throws `InvalidPayload`, naming `field`, when it would not be read as it was written. */
export const encodeOutput = async (
  field: string,
  schema: InputSchema<unknown> | undefined,
  value: unknown,
): Promise<unknown> => {
  if (schema === undefined) return value
  if (Schema.isSchema(schema)) {
    const encode = Schema.encodeUnknownEffect(schema as Schema.Codec<unknown, unknown>)
    return Effect.runPromise(
      Effect.mapError(
        encode(value),
        ({ message }) =>
          new InvalidPayload({
            field,
            reason: `it does not fit the step's schema (${message.replaceAll("\n", " ")})`,
            next: "Correct the value, or the schema.",
          }),
      ),
    )
  }
  // Such a schema only reads: what it will read is the value after its way through JSON.
  const kept = decodePayload(Result.getOrThrow(encodePayload(field, value)))
  await checkInput(field, schema, kept, "the step's")
  return kept
}

/** A kept output as the schema reads it; throws `InvalidPayload`, naming `field`. */
export const decodeOutput = (
  field: string,
  schema: InputSchema<unknown> | undefined,
  kept: unknown,
): Promise<unknown> => checkInput(field, schema, kept, "the step's")
