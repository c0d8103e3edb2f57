// From a connection to a seat: subprotocol, hello, credential, name; then a new session, one that goes on, or a close
// code that says why not. Nothing that a peer does before it has a seat touches any other.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import type { StoreError } from "../domain/Errors.ts"
import type { Timers } from "../ports/Timers.ts"
import type { Incoming, OnConnection, UpgradeRequest } from "../ports/Transport.ts"
import { decode, encode } from "../protocol/Codec.ts"
import { admit, deny, type Greeted, greet, greetOffer } from "../protocol/Greeting.ts"
import { frameBytesMax, helloMillis } from "../protocol/Limits.ts"
import type { Hello } from "../protocol/Message.ts"
import type { Moment } from "../protocol/ServerState.ts"
import type { Seat } from "./Seat.ts"
import type { Grant, WorkersConfig } from "./WorkersConfig.ts"

/** What the reception needs of the desk. */
export interface ReceptionOptions {
  readonly config: WorkersConfig
  readonly moment: () => Moment
  readonly timers: Timers
  readonly seatOf: (worker: string) => Seat | undefined
  /** Whether new sessions are still begun; those that are there go on. */
  readonly isOpen: () => boolean
  /**
   * Gives a checked worker a new seat in place of `previous`, one at a time for each name; `null`: sessions have ended
   * meanwhile. `onSeat` is called before anything is sent.
   */
  readonly open: (asked: {
    readonly connection: Incoming
    readonly hello: Hello
    readonly grant: Grant
    readonly previous: Seat | undefined
    readonly onSeat: (seat: Seat) => void
  }) => Effect.Effect<Seat | null, StoreError>
  readonly onResumed: (seat: Seat) => void
  readonly onDenied: (
    asked: { readonly worker: string | null; readonly address: string },
    reason: string,
  ) => void
  readonly fork: (effect: Effect.Effect<void>) => void
}

type Denied = Extract<Greeted, { readonly kind: "close" }>

/** New sessions a second that are begun when nobody says otherwise: more are told to come later. */
export const hellosPerSecondMax = 200

// Denials a second that are told of one by one.
const deniedPerSecondMax = 20

/** Takes connections. */
export const makeReception = (options: ReceptionOptions): OnConnection => {
  const { config, timers } = options
  const spend = makeAllowance(config.hellosPerSecondMax ?? hellosPerSecondMax, () => options.moment().now)
  const mayTell = makeAllowance(deniedPerSecondMax, () => options.moment().now)
  let untold = 0
  /** A peer that tries in a loop shall not fill the log. */
  const deniedTo = (worker: string | null, address: string, reason: string): void => {
    if (!mayTell()) return void untold++
    const others = untold === 0 ? "" : ` (and ${untold} others before)`
    untold = 0
    options.onDenied({ worker, address }, `${reason}${others}`)
  }
  const locks = new Map<string, { readonly semaphore: Semaphore.Semaphore; users: number }>()

  /** One hello of a name after the other: whoever comes later finds what the earlier one left. */
  const alone = <A, E>(name: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const lock = locks.get(name) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
      locks.set(name, lock)
      lock.users++
      const leave = Effect.sync(() => {
        if (--lock.users === 0) locks.delete(name)
      })
      return Effect.ensuring(Semaphore.withPermit(lock.semaphore, effect), leave)
    })

  return (connection) => {
    const { request } = connection
    let seat: Seat | undefined
    let number = 0
    let phase: "new" | "checking" | "seated" | "gone" = "new"
    let goneAs = ""

    const refuse = ({ code, reason, error }: Denied, worker: string | null): void => {
      if (phase === "gone") return
      phase = "gone"
      takeBack()
      deniedTo(worker, request.remoteAddress, error?.message ?? reason)
      const answer = error === null ? null : encode({ ...error.answer, id: "s1" })
      if (answer !== null && Result.isSuccess(answer)) connection.send(answer.success)
      connection.close(code, reason)
    }
    const takeBack = timers.after(helloMillis, () => {
      if (phase === "new") refuse(greet(null) as Denied, null)
    })

    const seated = (given: Seat, as: number): void => {
      seat = given
      number = as
      if (phase !== "gone") phase = "seated"
    }

    const check = Effect.fnUntraced(function* (hello: Hello) {
      const { worker } = hello
      const denied = (why: Greeted): void => refuse(why as Denied, worker)
      if (!options.isOpen() && options.seatOf(worker) === undefined) return denied(stopping)
      if (!spend()) return denied(deny(laterFor(hello), "too many workers connect at once"))
      const token = bearerOf(request) ?? hello.token ?? null
      const admission = yield* Effect.timeoutOption(config.admit({ token, worker, request }), helloMillis)
      if (admission._tag === "None") return denied(deny("tryLater", "the check took too long"))
      if (admission.value.kind === "denied")
        return denied(deny(admission.value.close, admission.value.reason))
      const { grant } = admission.value
      const foreign = hello.queues?.find((queue) => grant.queues?.includes(queue) === false)
      if (foreign !== undefined)
        return denied(deny("notAllowed", `the token does not allow the queue "${foreign}"`))
      yield* alone(worker, seatIt(hello, grant, denied))
    })

    const seatIt = (hello: Hello, grant: Grant, denied: (why: Greeted) => void): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (phase === "gone") return Effect.void
        const known = options.seatOf(hello.worker)
        const state = known?.state
        const as = admit(hello, state)
        if (as === "outdated")
          return Effect.sync(() =>
            refuse(
              { kind: "close", code: outdated.code, reason: outdated.reason, error: null },
              hello.worker,
            ),
          )
        if (as === "resume" && known !== undefined && known.grant.id === grant.id)
          return Effect.sync(() => {
            seated(known, known.nextConnection)
            known.resume(connection, hello)
            options.onResumed(known)
          })
        if (!options.isOpen()) return Effect.sync(() => denied(stopping))
        return Effect.matchEffect(
          options.open({
            connection,
            hello,
            grant,
            previous: known,
            onSeat: (opened) => seated(opened, opened.state.connection),
          }),
          {
            // The connection went while the store was asked: the worker may come back for its seat.
            onSuccess: (opened) =>
              Effect.sync(() =>
                opened === null
                  ? denied(stopping)
                  : phase === "gone"
                    ? opened.closed(number, goneAs)
                    : undefined,
              ),
            onFailure: (error) =>
              Effect.sync(() => denied(deny(laterFor(hello), `the store does not answer: ${error.message}`))),
          },
        )
      })

    const refusal = greetOffer(request.offered)
    if (refusal !== null) refuse(refusal as Denied, null)
    return {
      onFrame: (frame) => {
        if (phase === "seated") return seat?.hear(number, frame)
        if (phase === "gone") return
        if (phase === "checking") return refuse(early, null)
        const first = greet(decode(frame, "worker", frameBytesMax))
        if (first.kind === "close") return refuse(first, null)
        phase = "checking"
        takeBack()
        const failed = Effect.sync(() =>
          refuse(deny("server", "the check failed") as Denied, first.hello.worker),
        )
        options.fork(Effect.catchCause(check(first.hello), () => failed))
      },
      onDrain: () => seat?.drained(number),
      onClose: (code, reason) => {
        takeBack()
        const was = phase
        phase = "gone"
        goneAs = reason === "" ? `closed with ${code}` : `closed with ${code}: ${reason}`
        if (was === "seated") seat?.closed(number, goneAs)
        // The transport refused what came; whoever goes of his own accord need not be told of.
        else if (was === "new" && isRefusal(code)) deniedTo(null, request.remoteAddress, goneAs)
      },
    }
  }
}

const early: Denied = {
  kind: "close",
  code: 4400,
  reason: "a message came before the welcome: wait for it after hello",
  error: null,
}
/** One that is at work comes again soon: its handlers go on for a few seconds only. */
const laterFor = ({ inHand }: Hello): "restart" | "tryLater" =>
  inHand.some(({ state }) => state !== "waiting") ? "restart" : "tryLater"
const stopping = deny("restart", "the server stops")
const isRefusal = (code: number): boolean => ![1000, 1001, 1005, 1006].includes(code)
const outdated = {
  code: 4409,
  reason: "hello.connection must grow with each connection of a process",
} as const

const bearerOf = ({ headers }: UpgradeRequest): string | null => {
  const [scheme, token, ...rest] = (headers.get("authorization") ?? "").trim().split(/ +/)
  return scheme?.toLowerCase() === "bearer" && token !== undefined && rest.length === 0 ? token : null
}

/** So many a second, and a second's worth at once. */
const makeAllowance = (rate: number, now: () => number): (() => boolean) => {
  let left = rate
  let at = now()
  return () => {
    const moment = now()
    left = Math.min(rate, left + ((moment - at) * rate) / 1000)
    at = moment
    if (left < 1) return false
    left--
    return true
  }
}
