// The thirteen messages between a server and its workers. Each is one JSON object in one text frame, with `type` and
// `id`. Spans and instants are whole milliseconds, instants since 1970 by the clock of the side that sends them.
// Unknown fields are ignored. What each message means, and when it is sent, is in README.md of this folder.
import {
  about,
  boolean,
  byWord,
  type Field,
  id,
  list,
  millis,
  name,
  nullable,
  number,
  object,
  oneOf,
  optional,
  payload,
  scalar,
  text,
  type TypeOf,
  whole,
  word,
} from "./Field.ts"
import * as Limits from "./Limits.ts"
import { attemptFields, errorInfo, inHand, outcome, stepInputs, verdict } from "./Shapes.ts"

/** The two ends of a connection. */
export type Side = "server" | "worker"

/** A kind of message. */
export interface Kind<A = unknown> {
  readonly field: Field<A>
  /** Who may send it. */
  readonly from: ReadonlyArray<Side>
  readonly description: string
}

const kind = <const T extends string, const F extends Readonly<Record<string, Field<any>>>>(
  type: T,
  from: ReadonlyArray<Side>,
  description: string,
  fields: F,
) => {
  const own = {
    type: oneOf(type),
    id: about("Chosen by the sender, unique within the session.", id),
    ...fields,
  }
  return { field: about(description, object(own)), from, description }
}

const capabilities = list(word, Limits.capabilitiesMax)
const moment = about("The sender's clock when it sent this, in epoch milliseconds.", millis)
const slots = whole(0, Limits.slotsMax)
const reason = about("Why, in words.", text(Limits.textMax))

/** All messages by their `type`. */
export const kinds = {
  hello: kind(
    "hello",
    ["worker"],
    "The first message of a connection: who the worker is, what it can do, and what it has in hand.",
    {
      token: about(
        "The worker's token, where the transport has no Authorization header.",
        optional(text(512, 1)),
      ),
      worker: about("The worker's name. A newer process with the same name replaces an older one.", name),
      incarnation: about(
        "New with every start of the process, the same over its reconnects: 128 random bits in any spelling.",
        id,
      ),
      connection: about(
        "Which connection of this process it is, counted from 1: a server passes over a hello that comes after a later one.",
        whole(1),
      ),
      session: about("The session to resume; null: none.", nullable(id)),
      runtime: about("What it runs on, such as `bun 1.4.5` or `python 3.11`.", text(128)),
      version: about("The version of the worker's own code.", text(128)),
      jobs: about("The jobs that it has handlers for.", list(name, Limits.namesMax)),
      queues: about(
        "The queues that it takes runs from; absent: those of its token.",
        optional(list(name, Limits.namesMax)),
      ),
      slots: about("How many runs it carries out at once.", slots),
      prefetch: about(
        "How many runs it takes beyond its slots, to begin them without a wait; default 0.",
        optional(slots),
      ),
      labels: about(
        'What placement rules may ask for, such as `{ "region": "eu", "gpu": 2 }`.',
        optional(byWord(scalar, Limits.labelsMax)),
      ),
      capabilities: about("What it knows beyond the basics: `resume`, `flows`.", capabilities),
      inHand: about(
        "Every attempt that it was given and whose end was not acknowledged.",
        list(inHand, Limits.inHandMax),
      ),
    },
  ),
  welcome: kind(
    "welcome",
    ["server"],
    "The answer to hello: the session, the terms, and what holds of what the worker has in hand.",
    {
      session: about("The session's id, to resume it by.", id),
      resumed: about("Whether the session that hello named goes on.", boolean),
      node: about("The server's name.", name),
      now: moment,
      heartbeatMillis: about("How often the worker sends a heartbeat.", whole(100, 3_600_000)),
      suspectMillis: about(
        "After this long without a sign of life of the server the worker closes the connection.",
        millis,
      ),
      leaseMillis: about(
        "A worker whose heartbeats are not answered stops its handlers this long after the last one that was.",
        millis,
      ),
      graceMillis: about("How long its runs wait for it when the connection is cut; 0: not at all.", millis),
      restartMillis: about(
        "How long they wait after the server closed with 1012, for the one that comes after it; absent: `graceMillis`.",
        optional(millis),
      ),
      frameBytesMax: about("The most UTF-8 bytes of one frame.", whole(1_024)),
      payloadBytesMax: about("The most UTF-8 bytes of one input or output.", whole(1)),
      messagesPerSecondMax: about(
        "Messages a second that the worker may send beside acknowledgements and outcomes.",
        whole(1),
      ),
      capabilities: about(
        "Those of the worker's that the server knows too: only they may be used.",
        capabilities,
      ),
      inHand: about("One verdict for each attempt that hello named.", list(verdict, Limits.inHandMax)),
    },
  ),
  assign: kind(
    "assign",
    ["server"],
    "One attempt to carry out. Acknowledged by `ack`; without that it comes again.",
    {
      ...attemptFields,
      job: about("The job whose handler is meant.", name),
      queue: about("The queue that the run comes from.", name),
      input: about("JSON text of the run's input; null: none.", payload),
      attemptMax: about("How many attempts the run may use.", whole(1)),
      timeoutMillis: about(
        "How long the handler may take; null: no limit. The worker stops it and reports `timeout`.",
        nullable(millis),
      ),
      dueAt: about("From when the run might start, by the server's store.", millis),
      lateMillis: about("How long after `dueAt` this was sent, by the server's clock.", millis),
      nominalAt: about(
        "The schedule's instant that the run stands for; null: it has no schedule.",
        nullable(millis),
      ),
      schedule: about("The schedule that it comes from; null: none.", nullable(text(512))),
      needs: about(
        "Outputs of the runs that this one needs.",
        list(
          object({
            job: about("The needed run's job.", name),
            output: about("JSON text of its output; null: none.", payload),
          }),
          Limits.needsMax,
        ),
      ),
      step: about("What the run of a step may read; null: the run is no step.", nullable(stepInputs)),
      shard: about(
        "Which part of a broadcast this is: `index` from 0, of `count` workers; absent: it is none.",
        optional(object({ index: about("From 0.", whole(0)), count: about("How many.", whole(1)) })),
      ),
    },
  ),
  ack: kind("ack", ["server", "worker"], "Acknowledges what came, one entry for each attempt.", {
    acks: about(
      "The entries.",
      list(
        object({
          ...attemptFields,
          result: about(
            "Of a worker for `assign`: `waiting` (taken, not begun), `started` (the handler is called now), `refused` (not taken, and forgotten). Of a server for `result` and `failure`: `settled` (stored), `stale` (not applied: the attempt was not the worker's any more).",
            oneOf("waiting", "started", "refused", "settled", "stale"),
          ),
          reason: about(
            "Of a refusal: `full`, `noHandler`, `draining`, or `over` (begun before, and ended).",
            optional(word),
          ),
        }),
        Limits.acksMax,
      ),
    ),
  }),
  progress: kind("progress", ["worker"], "How far a handler is. Not acknowledged; only the newest counts.", {
    ...attemptFields,
    percent: about("From 0 to 100; null: unknown.", nullable(number(0, 100))),
    note: about("In words.", optional(text(Limits.textMax))),
  }),
  log: kind("log", ["worker"], "Lines that a handler wrote. Not acknowledged.", {
    ...attemptFields,
    lines: about(
      "In order.",
      list(
        object({
          at: about("When, by the worker's clock.", millis),
          level: about("How serious.", oneOf("debug", "info", "warn", "error")),
          text: about("The line.", text(Limits.textMax)),
        }),
        Limits.linesMax,
      ),
    ),
    dropped: about(
      "How many lines before these were thrown away, as there were too many.",
      optional(whole(0)),
    ),
  }),
  heartbeat: kind(
    "heartbeat",
    ["server", "worker"],
    "A sign of life. The server answers each of a worker's at once.",
    {
      at: moment,
      of: about("Of a server: the id of the heartbeat that this answers.", optional(id)),
      slots: about("Of a worker: how many runs it carries out at once from now on.", optional(slots)),
      running: about("Of a worker: how many handlers run.", optional(whole(0))),
      load: about(
        "Of a worker: how busy its machine is, 1 for one full core.",
        optional(number(0, 1_000_000)),
      ),
    },
  ),
  result: kind(
    "result",
    ["worker"],
    "An attempt ended, other than by failing. Sent again until it is acknowledged.",
    {
      ...attemptFields,
      outcome: about("How.", outcome),
    },
  ),
  failure: kind("failure", ["worker"], "An attempt failed. Sent again until it is acknowledged.", {
    ...attemptFields,
    error: about("Why.", errorInfo),
    retryable: about("false: no further attempt, whatever the job's policy says.", boolean),
    retryAfterMillis: about(
      "The handler's own wish for the wait before the next attempt; null: by the policy.",
      nullable(millis),
    ),
  }),
  cancel: kind(
    "cancel",
    ["server"],
    "The attempt is to stop. Comes again until its end is there, however it ends.",
    {
      ...attemptFields,
      reason: about(
        "Why: its time is up, its run was cancelled, the server drains, or it is not the server's any more.",
        oneOf("timeout", "cancelled", "drain", "leaseLost"),
      ),
    },
  ),
  drain: kind(
    "drain",
    ["server", "worker"],
    "No new work. Of a server: finish or hand back what is in hand, then say bye. Of a worker: that is what it does.",
    {
      graceMillis: about("How long what is in hand may still take.", millis),
      reason,
    },
  ),
  bye: kind(
    "bye",
    ["worker"],
    "The worker has nothing in hand and goes. The server closes the connection: with 1000, or, if it asked for the drain, with 1012.",
    { reason },
  ),
  error: kind("error", ["server", "worker"], "What came was wrong. Never answered.", {
    code: about("What for programs: `badJson`, `unknownType`, `badField` ...", word),
    message: about("What for people: what is wrong, why, and what to do.", text(Limits.textMax)),
    of: about("The id of the message that was wrong, if it had one.", optional(id)),
    field: about("The field that was wrong.", optional(text(Limits.textMax))),
  }),
} as const

/** A type of message. */
export type MessageType = keyof typeof kinds
/** A message of one type. */
export type MessageOf<T extends MessageType> = TypeOf<(typeof kinds)[T]["field"]>
/** Any message. */
export type Message = { readonly [T in MessageType]: MessageOf<T> }[MessageType]

/** All types, in the order of their life. */
export const messageTypes = Object.keys(kinds) as ReadonlyArray<MessageType>

/** What one side sends; the machines give it its id. */
export type Sent = Message extends infer M ? (M extends Message ? Omit<M, "id"> : never) : never

export type Hello = MessageOf<"hello">
export type Welcome = MessageOf<"welcome">
export type Assign = MessageOf<"assign">
export type Ack = MessageOf<"ack">
export type Ended = MessageOf<"result"> | MessageOf<"failure">
