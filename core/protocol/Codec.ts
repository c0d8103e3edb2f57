// Frames to messages and back. Whatever comes in ends as a message that the schemas of Message.ts accept, without
// unknown fields, or as a `Refused` that says what was wrong; nothing throws. The order of the checks is their price:
// kind of frame, size, depth, JSON, type, fields.
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { utf8Length } from "../domain/Payload.ts"
import { type CloseName, closeOf } from "./Close.ts"
import { nestsDeeper } from "./Depth.ts"
import { id, Problem } from "./Field.ts"
import { acksMax, depthMax, frameBytesMax, idMax, textMax } from "./Limits.ts"
import { type Ack, kinds, type Message, type MessageOf, type MessageType, type Side } from "./Message.ts"

/** Why a frame is no message. */
export const refusals = [
  "binary",
  "tooLarge",
  "tooDeep",
  "badJson",
  "noObject",
  "unknownType",
  "wrongSide",
  "badField",
] as const
export type RefusalCode = (typeof refusals)[number]

/** A frame that cannot be read, or a message that cannot be written. Nothing of it was used. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  code: Schema.Literals(refusals),
  /** The field, as `type.path`, such as `result.outcome.kind`; `frame` for what is no message. */
  field: Schema.String,
  /** Why it is refused, without the field, starting in lower case. */
  reason: Schema.String,
  /** The next thing to do, as one sentence. */
  next: Schema.String,
  /** The id of the message, if it has one. */
  of: Schema.optional(Schema.String),
  /** With which code the connection ends; `null`: it goes on. */
  close: Schema.NullOr(Schema.Number),
}) {
  override get message(): string {
    return `${this.field}: ${this.reason}. ${this.next}`
  }

  /** What the sender is told. */
  get answer(): Omit<MessageOf<"error">, "id"> {
    const field = this.field.slice(0, 512)
    return {
      type: "error",
      code: this.code,
      message: this.message.slice(0, textMax),
      ...(this.of === undefined ? {} : { of: this.of }),
      ...(this.code === "badField" ? { field } : {}),
    }
  }
}

const refuse = (
  code: RefusalCode,
  close: CloseName | null,
  field: string,
  reason: string,
  next: string,
  of?: string,
): Result.Result<never, Refused> =>
  Result.fail(
    new Refused({
      code,
      field,
      reason,
      next,
      close: close === null ? null : closeOf[close],
      ...(of === undefined ? {} : { of }),
    }),
  )

const types: ReadonlyMap<unknown, MessageType> = new Map(
  (Object.keys(kinds) as ReadonlyArray<MessageType>).map((type) => [type, type]),
)
const known = [...types.values()].join(", ")

/** Whether a text takes more bytes than allowed; counts them only where the length leaves it open. */
const isTooLarge = (frame: string, bytesMax: number): boolean =>
  frame.length > bytesMax || (frame.length * 3 > bytesMax && utf8Length(frame) > bytesMax)

/**
 * Reads a frame that `from` sent. `frame` is what the transport gives; only a text can be a message. A message of an
 * unknown type is refused without an end to the connection, so that newer peers may try what older ones do not know.
 */
export const decode = (
  frame: unknown,
  from: Side,
  bytesMax: number = frameBytesMax,
): Result.Result<Message, Refused> => {
  if (typeof frame !== "string")
    return refuse("binary", "binary", "frame", "it is not a text", "Send each message as one text frame.")
  if (isTooLarge(frame, bytesMax)) {
    const reason = `it has more than ${bytesMax} bytes in UTF-8`
    return refuse(
      "tooLarge",
      "tooLarge",
      "frame",
      reason,
      "Store large data elsewhere and send a reference to it.",
    )
  }
  if (nestsDeeper(frame, depthMax))
    return refuse(
      "tooDeep",
      "badMessage",
      "frame",
      `it nests deeper than ${depthMax}`,
      "Send flat messages; payloads are JSON text in a string.",
    )
  const parsed = Result.try((): unknown => JSON.parse(frame))
  if (Result.isFailure(parsed))
    return refuse("badJson", "badMessage", "frame", "it is no JSON", "Send one JSON object in each frame.")
  return read(parsed.success, from)
}

/** Reads a parsed message that `from` sent. */
export const read = (value: unknown, from: Side): Result.Result<Message, Refused> => {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuse(
      "noObject",
      "badMessage",
      "frame",
      "it is no JSON object",
      "Send one JSON object in each frame.",
    )
  const given = value as Readonly<Record<string, unknown>>
  const named = id.read(given["id"])
  const of = named instanceof Problem ? undefined : named
  const type = types.get(given["type"])
  if (type === undefined) {
    if (typeof given["type"] !== "string")
      return refuse("badField", "badMessage", "type", "is missing, or no text", `Use one of ${known}.`, of)
    const reason = `"${given["type"].slice(0, idMax)}" is not known`
    return refuse("unknownType", null, "type", reason, `This version knows ${known}.`, of)
  }
  const kind = kinds[type]
  if (!kind.from.includes(from))
    return refuse(
      "wrongSide",
      "badMessage",
      "type",
      `a ${from} does not send "${type}"`,
      "See the README of the protocol for who sends what.",
      of,
    )
  const message = kind.field.read(value)
  if (message instanceof Problem) {
    const field = `${type}.${message.path}`.slice(0, textMax)
    return refuse(
      "badField",
      "badMessage",
      field,
      message.reason,
      "Correct it: the published JSON Schema says what fits.",
      of,
    )
  }
  return Result.succeed(message)
}

/**
 * A text frame of a message. Refused when the other side would refuse it, for a field or its size: sent all the same
 * it would end the connection, and again with each reconnect.
 */
export const encode = (
  message: Message,
  bytesMax: number = frameBytesMax,
): Result.Result<string, Refused> => {
  const { type, id: of } = message
  const checked: unknown = kinds[type].field.read(message)
  if (checked instanceof Problem)
    return refuse("badField", null, `${type}.${checked.path}`, checked.reason, "Correct or shorten it.", of)
  const frame = JSON.stringify(message)
  if (!isTooLarge(frame, bytesMax)) return Result.succeed(frame)
  const reason = `it would take more than ${bytesMax} bytes`
  const next = "Store large data elsewhere and pass a reference to it."
  return refuse("tooLarge", null, type, reason, next, of)
}

/**
 * The same messages with all acknowledgements in the place of the first one: what is sent in one turn of the event
 * loop costs one frame for them. Earlier than they were meant is harmless, as they only say what was done already.
 */
export const joinAcks = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const acks = messages.filter((message): message is Ack => message.type === "ack")
  if (acks.length < 2) return messages
  const entries = acks.flatMap((message) => message.acks)
  const first = acks[0] as Ack
  const joined: Array<Message> = []
  for (let from = 0; from < entries.length; from += acksMax) {
    const id = (acks[Math.floor(from / acksMax)] as Ack).id
    joined.push({ ...first, id, acks: entries.slice(from, from + acksMax) })
  }
  return messages.flatMap((message) => (message === first ? joined : message.type === "ack" ? [] : [message]))
}
