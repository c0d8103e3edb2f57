// Every refusal of the engine, as a typed error that says which field, why, and what to do next.
// Refusals are one of four kinds of error (the others: a port's failure, a handler's failure, which is
// data and not an error, and a broken invariant, which dies). Nothing was changed when one is returned.
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const refusal = {
  /** What the caller wrote wrong, as a path: `jobs[2].retry.max`, `delay`, `schedule "nightly"`. */
  field: Schema.String,
  /** Why it is refused, without the field, starting in lower case. */
  reason: Schema.String,
  /** The next thing to do, as one sentence. */
  next: Schema.String,
}

const text = (error: { field: string; reason: string; next: string }): string =>
  `${error.field}: ${error.reason}. ${error.next}`

/**
 * A value that the caller gave is not acceptable: number, date, duration, name, option. `position` is the offset in a text
 * that is read part by part, such as a rule about labels.
 */
export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", {
  ...refusal,
  position: Schema.optional(Schema.Number),
}) {
  override get message(): string {
    return text(this)
  }
}

/** A run's input or output cannot be stored: it fails its schema, is not JSON, or is over the limit. */
export class InvalidPayload extends Schema.TaggedError<InvalidPayload>()("InvalidPayload", refusal) {
  override get message(): string {
    return text(this)
  }
}

/** A schedule cannot be saved. `position` is the offset in a cron text, where there is one. */
export class InvalidSchedule extends Schema.TaggedError<InvalidSchedule>()("InvalidSchedule", {
  ...refusal,
  position: Schema.optional(Schema.Number),
}) {
  override get message(): string {
    return text(this)
  }

  /** The same refusal, with the path of what the text belongs to before its field. */
  within(path: string): InvalidSchedule {
    const { reason, next, position } = this
    const field = `${path}.${this.field}`
    return new InvalidSchedule(
      position === undefined ? { field, reason, next } : { field, reason, next, position },
    )
  }
}

/** No job of this name is defined. */
export class UnknownJob extends Schema.TaggedError<UnknownJob>()("UnknownJob", {
  ...refusal,
  job: Schema.String,
}) {
  override get message(): string {
    return text(this)
  }
}

/** Two definitions carry the same name. */
export class DuplicateName extends Schema.TaggedError<DuplicateName>()("DuplicateName", {
  ...refusal,
  name: Schema.String,
}) {
  override get message(): string {
    return text(this)
  }
}

/** Jobs need each other in a circle; `cycle` is the path, first and last name equal, at most 21 names. */
export class DependencyCycle extends Schema.TaggedError<DependencyCycle>()("DependencyCycle", {
  ...refusal,
  cycle: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return text(this)
  }
}

/**
 * The steps of a flow make no graph. `nodes` are the ids that it is about, at most 20: the step, for a missing need
 * also the name that is missing, and for a circle its path, each step needing the next one and the last the first
 * (unless the circle is longer than 20).
 */
export class InvalidFlow extends Schema.TaggedError<InvalidFlow>()("InvalidFlow", {
  ...refusal,
  kind: Schema.Literals(["id", "duplicate", "rule", "self", "missing", "cycle", "limit"]),
  nodes: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return text(this)
  }

  /** The same refusal, with the flow that it is about before its field. */
  within(flow: string): InvalidFlow {
    const { kind, nodes, field, reason, next } = this
    return new InvalidFlow({ kind, nodes, field: `${flow}: ${field}`, reason, next })
  }
}

/** No run, dead letter or schedule of this id. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", { ...refusal, id: Schema.String }) {
  override get message(): string {
    return text(this)
  }
}

/** The engine is draining or has stopped and takes no new work. */
export class EngineStopped extends Schema.TaggedError<EngineStopped>()("EngineStopped", refusal) {
  override get message(): string {
    return text(this)
  }
}

/** A limit of the engine was reached; nothing was stored, and trying later may succeed. */
export class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {
  ...refusal,
  limit: Schema.Number,
}) {
  override get message(): string {
    return text(this)
  }
}

/** Another engine holds this store, which serves one engine at a time. */
export class StoreInUse extends Schema.TaggedError<StoreInUse>()("StoreInUse", refusal) {
  override get message(): string {
    return text(this)
  }
}

/** The store cannot be opened: not there or not writable, no store of ours, or of a version that does not fit. */
export class StoreUnusable extends Schema.TaggedError<StoreUnusable>()("StoreUnusable", {
  ...refusal,
  kind: Schema.Literals([
    "notFound",
    "notWritable",
    "notADatabase",
    "newerSchema",
    "unreachable",
    "denied",
    "tooOld",
  ]),
}) {
  override get message(): string {
    return text(this)
  }
}

/**
 * A store operation failed. `outcomeUnknown` says that it may have been done all the same: every operation
 * is safe to repeat, so the engine repeats it until it gets an answer.
 */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  driver: Schema.String,
  operation: Schema.String,
  outcomeUnknown: Schema.Boolean,
  cause: Schema.Defect(),
}) {
  override get message(): string {
    return `Cannot ${this.operation} in the ${this.driver} store: ${causeText(this.cause)}`
  }
}

/** A transport could not listen or connect. Nothing is open; trying again later may succeed. */
export class TransportError extends Schema.TaggedError<TransportError>()("TransportError", {
  transport: Schema.String,
  operation: Schema.Literals(["listen", "connect"]),
  /** Where to. */
  address: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message(): string {
    const verb = this.operation === "listen" ? "listen on" : "connect to"
    return `Cannot ${verb} "${this.address}" by ${this.transport}: ${causeText(this.cause)}`
  }
}

// A driver may throw anything, also what has no text.
const causeText = (cause: unknown): string =>
  Result.getOrElse(
    Result.try(() => (cause instanceof Error ? cause.message : String(cause))),
    () => "a value that cannot be read was thrown",
  )

/** Everything that the engine may answer instead of doing what it was asked. */
export type Refusal =
  | InvalidInput
  | InvalidPayload
  | InvalidSchedule
  | UnknownJob
  | DuplicateName
  | DependencyCycle
  | InvalidFlow
  | NotFound
  | EngineStopped
  | Overloaded
  | StoreInUse
  | StoreUnusable
