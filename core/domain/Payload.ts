// Inputs and outputs as JSON text, encoded once where they enter; and errors, cut to what a row may hold.
import * as Result from "effect/Result"
import { InvalidPayload } from "./Errors.ts"
import type { ErrorInfo } from "./Run.ts"
import { quote } from "./TimeSpan.ts"

/** The most that a payload may take as UTF-8 JSON: 256 KiB. */
export const payloadBytesMax = 262_144

/**
 * JSON text of a value, `null` for undefined. Refused, naming `field`: what JSON cannot express (functions,
 * symbols, bigints, circles, NaN and infinite numbers, which JSON would turn to null unseen), and text over 256 KiB.
 */
export const encodePayload = (
  field: string,
  value: unknown,
): Result.Result<string | null, InvalidPayload> => {
  if (value === undefined) return Result.succeed(null)
  const refuse = (reason: string, next: string) => Result.fail(new InvalidPayload({ field, reason, next }))
  let lostAt: string | undefined
  const encoded = Result.try((): string | undefined =>
    JSON.stringify(value, (key, each: unknown) => {
      if (lostAt === undefined && isLost(each))
        lostAt = `${key === "" ? "the value" : `"${key}"`} is ${quote(each)}`
      return each
    }),
  )
  if (Result.isFailure(encoded)) {
    const cause = errorInfo(encoded.failure).message.split("\n")[0]
    return refuse(`it cannot be written as JSON (${cause})`, "Pass plain data.")
  }
  if (lostAt !== undefined) return refuse(`${lostAt}, which JSON cannot express`, "Pass plain data.")
  // A `toJSON` gave undefined.
  if (encoded.success === undefined) return Result.succeed(null)
  const bytes = utf8Length(encoded.success)
  if (bytes > payloadBytesMax) {
    return refuse(
      `${bytes} bytes are more than the ${payloadBytesMax} allowed`,
      "Store the data elsewhere and pass a reference to it.",
    )
  }
  return Result.succeed(encoded.success)
}

/** The value of a stored text; `undefined` for `null`. Text that we wrote always parses. */
export const decodePayload = (text: string | null): unknown => (text === null ? undefined : JSON.parse(text))

const isLost = (value: unknown): boolean =>
  typeof value === "function" ||
  typeof value === "symbol" ||
  (typeof value === "number" && !Number.isFinite(value))

/** Bytes of a text in UTF-8; a lone surrogate counts three, as its replacement does. */
export const utf8Length = (text: string): number => {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit > 0x7ff) {
      bytes += 2
      // A pair of surrogates is one character of four bytes.
      if (unit >= 0xd800 && unit < 0xdc00 && index + 1 < text.length) {
        const following = text.charCodeAt(index + 1)
        if (following >= 0xdc00 && following < 0xe000) {
          index++
        }
      }
    } else if (unit > 0x7f) bytes += 1
  }
  return bytes
}

const messageMax = 2048
const stackMax = 4096

/**
 * What is kept of something that was thrown, whatever it is: an Error, text, undefined, an object with a
 * throwing getter. Message at most 2,048 characters, stack 4,096.
 */
export const errorInfo = (thrown: unknown, kind: ErrorInfo["kind"] = "error"): ErrorInfo => {
  const info = Result.try((): ErrorInfo => {
    if (thrown instanceof Error) {
      // Whatever the types say, user code may have put anything there.
      const { _tag, name, message } = thrown as unknown as Readonly<Record<string, unknown>>
      // V8 makes the stack when it is first read, and fails over a name that is a symbol.
      const stack = Result.getOrUndefined(Result.try((): unknown => thrown.stack))
      return {
        name: cut(String(typeof _tag === "string" ? _tag : name), 128),
        message: cut(String(message), messageMax),
        ...(typeof stack === "string" ? { stack: cut(stack, stackMax) } : {}),
        kind,
      }
    }
    return { name: "NonError", message: cut(describe(thrown), messageMax), kind }
  })
  return Result.getOrElse(info, () => ({
    name: "NonError",
    message: "A value that cannot be read was thrown",
    kind,
  }))
}

const describe = (thrown: unknown): string => {
  if (typeof thrown === "object" && thrown !== null) {
    const text = Result.getOrElse(
      Result.try(() => JSON.stringify(thrown)),
      () => undefined,
    )
    return `A value that is not an Error was thrown: ${text ?? Object.prototype.toString.call(thrown)}`
  }
  return `A value that is not an Error was thrown: ${String(thrown)}`
}

const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text)
