// Why a worker ended, and what a person does about it.
import * as Schema from "effect/Schema"
import { closeOf } from "../../core/protocol/Close.ts"

/** A worker cannot go on: its server does not take it, or was never there. `code` is that of the close, if there was one. */
export class WorkerRefused extends Schema.TaggedError<WorkerRefused>()("WorkerRefused", {
  field: Schema.String,
  reason: Schema.String,
  next: Schema.String,
  code: Schema.NullOr(Schema.Number),
}) {
  override get message(): string {
    return `${this.field}: ${this.reason}. ${this.next}`
  }
}

/**
 * The end of a worker. `drained`: it was told to stop. `dismissed`: the server needs it no more. `denied`: its token, name
 * or queues are not allowed. `replaced`: a newer process has its name. `protocol`: no version in common. `unreachable`: it
 * never reached its server and was told to give up.
 */
export interface WorkerEnd {
  readonly why: "drained" | "dismissed" | "denied" | "replaced" | "protocol" | "unreachable"
  /** Of the last connection; `null`: there was none. */
  readonly code: number | null
  /** In words. */
  readonly reason: string
  /** Attempts whose outcome the server has not acknowledged: it takes them back and gives them to others. */
  readonly unacknowledged: number
  /** What a person should do; `null` when it ended as it should. */
  readonly error: WorkerRefused | null
}

const next: Readonly<Record<Exclude<WorkerEnd["why"], "drained" | "dismissed">, string>> = {
  denied: "Give it a token that is valid, and allows this name and these queues, and start it again.",
  replaced: "Give this worker, or the other one, another name.",
  protocol: "Upgrade whichever of the two is older.",
  unreachable: "Check the address and that a server listens there, then start it again.",
}

/** The end that follows from the last close, which only a person can do something about, or nobody has to. */
export const endOf = (
  name: string,
  closed: { readonly code: number; readonly reason: string },
  drained: boolean,
  unacknowledged: number,
): WorkerEnd => {
  const why = whyOf(closed.code, drained)
  const error =
    why === "drained" || why === "dismissed"
      ? null
      : new WorkerRefused({
          field: `worker "${name}"`,
          reason: `the server closed with ${closed.code} (${closed.reason || "no reason given"})`,
          next: next[why],
          code: closed.code,
        })
  return { why, code: closed.code, reason: closed.reason, unacknowledged, error }
}

const whyOf = (code: number, drained: boolean): WorkerEnd["why"] => {
  if (code === closeOf.token || code === closeOf.notAllowed) return "denied"
  if (code === closeOf.replaced) return "replaced"
  if (code === closeOf.protocol) return "protocol"
  return drained ? "drained" : "dismissed"
}

/** The end of a worker that gives up. */
export const unreachable = (name: string, url: string, why: string, millis: number): WorkerEnd => ({
  why: "unreachable",
  code: null,
  reason: why,
  unacknowledged: 0,
  error: new WorkerRefused({
    field: `worker "${name}"`,
    reason: `it did not reach "${url}" within ${millis} ms (${why})`,
    next: next.unreachable,
    code: null,
  }),
})
