// Makes HTTP requests, so that a job may be somebody else's service: its input as a JSON body, an `Idempotency-Key` that
// is the run's id in every attempt, a signature, and a guard on where a request may go. An attempt may be made twice,
// and the key and the token (`uhrwerk-token`) let the other end notice.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { failed, type Outcome } from "../../core/domain/Outcome.ts"
import { errorInfo } from "../../core/domain/Payload.ts"
import type { Run } from "../../core/domain/Run.ts"
import { NonRetryable } from "../../core/domain/Signals.ts"
import { Executor, type Started, type StopReason } from "../../core/ports/Executor.ts"
import { type DescribedJob, type Task, workExecutor, type WorkRunner } from "../../core/ports/Executors.ts"
import { exchange, type Resolve, resolveByHost } from "./exchange.ts"
import { outcomeOf } from "./outcome.ts"
import { checkAddress, type CheckedRules, type Request } from "./Request.ts"
import { signatureHeaders } from "./signature.ts"

export type { Resolve, Resolved } from "./exchange.ts"
export {
  type Address,
  type CheckedRules,
  checkRequest,
  checkRules,
  type Method,
  type Request,
  type RequestOptions,
  type RequestRules,
} from "./Request.ts"

/** How requests are made. */
export interface RequestRunnerOptions {
  readonly rules: CheckedRules
  /** Answers the addresses of a name; default: the host's own look-up. */
  readonly resolve?: Resolve
  /** The time that is signed, and that HTTP dates are counted from; epoch milliseconds. Default: the host's clock. */
  readonly now?: () => number
}

/** Makes requests. */
export const makeRequestRunner = (options: RequestRunnerOptions): WorkRunner<Request> => {
  const { rules, resolve = resolveByHost, now = Date.now } = options
  const alive = new Set<AbortController>()
  let isClosed = false

  const perform = async (
    request: Request,
    { run, input }: Task,
    abort: AbortController,
  ): Promise<Outcome> => {
    const url = addressOf(request, run, input, rules)
    if (!(url instanceof URL)) return url
    const body = request.method === "GET" || request.method === "DELETE" ? null : input
    const deadline = setTimeout(() => abort.abort(new Ended(request.timeoutMillis)), request.timeoutMillis)
    const answer = await exchange({
      url,
      method: request.method,
      headers: headersOf(request, run, body, now()),
      body,
      answerMax: request.answerMax,
      isBodyWanted: request.output !== "none",
      networks: rules.networks,
      ca: rules.ca,
      resolve,
      signal: abort.signal,
    })
    clearTimeout(deadline)
    const what = `${request.method} ${url.origin}`
    // An answer that came counts, also when its end, which nobody wants, did not come in time.
    const reason: unknown = answer.kind === "error" ? abort.signal.reason : undefined
    return reason instanceof Ended ? reason.outcome(what) : outcomeOf(request, what, answer, now())
  }

  const start = (request: Request, task: Task, done: (outcome: Outcome) => void): Started => {
    const abort = new AbortController()
    if (isClosed) {
      done({ kind: "released" })
      return { stop: () => {} }
    }
    alive.add(abort)
    void perform(request, task, abort)
      .catch((error: unknown) => failed(errorInfo(error)))
      .then((outcome) => {
        alive.delete(abort)
        done(outcome)
      })
    return { stop: (reason) => abort.abort(new Ended(reason)) }
  }
  return {
    start,
    close: () => {
      isClosed = true
      for (const abort of alive) abort.abort(new Ended("leaseLost"))
      return Promise.resolve()
    },
  }
}

/** An executor of requests; those that are under way end with the layer. */
export const layerHttp = (
  requests: ReadonlyMap<string, DescribedJob<Request>>,
  options: RequestRunnerOptions,
): Layer.Layer<Executor> =>
  Layer.effect(
    Executor,
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => makeRequestRunner(options)),
        (runner) => Effect.promise(() => runner.close()),
      ),
      (runner) => workExecutor(runner, requests),
    ),
  )

/** The address, or the outcome that there is instead. */
const addressOf = (request: Request, run: Run, input: string, rules: CheckedRules): URL | Outcome => {
  const { url } = request
  let given: unknown
  try {
    given = typeof url === "function" ? url(JSON.parse(input)) : url
  } catch (error) {
    return failed(errorInfo(error), !(error instanceof NonRetryable))
  }
  const checked = checkAddress(`address of run ${run.id}`, given, rules.origins)
  return Result.isSuccess(checked) ? checked.success : failed(errorInfo(checked.failure), false)
}

const headersOf = (
  { headers, secrets }: Request,
  run: Run,
  body: string | null,
  nowMillis: number,
): Record<string, string> => ({
  accept: "application/json, text/plain;q=0.9, */*;q=0.1",
  "user-agent": "uhrwerk",
  ...(body === null ? {} : { "content-type": "application/json" }),
  ...headers,
  "idempotency-key": run.id,
  "uhrwerk-run-id": run.id,
  // The one text here that may hold anything but line breaks.
  "uhrwerk-job": encodeURIComponent(run.job.toWellFormed()),
  "uhrwerk-attempt": String(run.attempt),
  "uhrwerk-attempt-max": String(run.attemptMax),
  "uhrwerk-token": String(run.token),
  "uhrwerk-due-at": new Date(run.dueAt).toISOString(),
  ...(run.nominalAt === null ? {} : { "uhrwerk-nominal-at": new Date(run.nominalAt).toISOString() }),
  ...(secrets === null ? {} : signatureHeaders(secrets, run.id, nowMillis, body ?? "")),
})

// Why we ended an exchange, and the outcome of that.
class Ended extends Error {
  readonly why: StopReason | number

  /** A number is the time limit of the request, in milliseconds. */
  constructor(why: StopReason | number) {
    super("The exchange was ended")
    this.why = why
  }

  outcome(what: string): Outcome {
    const { why } = this
    return typeof why === "number"
      ? failed({ name: "Timeout", message: `${what} had no whole answer within ${why} ms`, kind: "timeout" })
      : failed({
          name: "StopSignal",
          message: `${what} was stopped: ${why}`,
          kind: why === "timeout" ? "timeout" : "cancelled",
        })
  }
}
