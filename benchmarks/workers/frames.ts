// Frames of the size that those of a run have, for the floor: the four messages that every run takes.
import * as Result from "effect/Result"
import { encode } from "../../core/protocol/Codec.ts"
import type { Message } from "../../core/protocol/Message.ts"

/** What a run costs in messages: assign, ack started, result, ack settled. */
export const messagesPerRun = 4

/** The job of all measured runs. */
export const job = "bench.noop"

const key = { run: "01997f3e-8a00-7000-8000-000000000001", attempt: 1, token: 1 }

const messages: ReadonlyArray<Message> = [
  {
    type: "assign",
    id: "s10000",
    ...key,
    job,
    queue: "default",
    input: '{"n":10000}',
    attemptMax: 3,
    timeoutMillis: null,
    dueAt: 1_790_000_000_000,
    lateMillis: 12,
    nominalAt: null,
    schedule: null,
    needs: [],
    step: null,
  },
  { type: "ack", id: "w10000", acks: [{ ...key, result: "started" }] },
  { type: "result", id: "w10001", ...key, outcome: { kind: "succeeded", output: null } },
  { type: "ack", id: "s10001", acks: [{ ...key, result: "settled" }] },
]

/** One frame of each, as a run would send them if none were joined. */
export const frames: ReadonlyArray<string> = messages.map((message) => Result.getOrThrow(encode(message)))
