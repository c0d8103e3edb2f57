// A worker in your process: takes runs from a server over a WebSocket and carries them out with your handlers. It needs no
// database and no open port. It promises what the protocol does: no attempt is begun twice, every outcome is told until the
// server knows it, and what it cannot finish goes back.
import * as Result from "effect/Result"
import { connect as connectWebSocket } from "../../adapters/transport-websocket/client.ts"
import { InvalidInput } from "../../core/domain/Errors.ts"
import type { Outcome } from "../../core/domain/Outcome.ts"
import { failed } from "../../core/domain/Outcome.ts"
import { utf8Length } from "../../core/domain/Payload.ts"
import { parseSpan, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import { runningOf } from "../../core/protocol/WorkerState.ts"
import { guardProcess } from "../sdk/guard.ts"
import { Attempts } from "./Attempts.ts"
import { openHere } from "./Here.ts"
import type { Place, Said } from "./Place.ts"
import { Reports } from "./Reports.ts"
import { openRooms } from "./Rooms.ts"
import { Session } from "./Session.ts"
import { checkIntroduction, checkOptions, type WorkerOptions, type WorkerSetting } from "./Setting.ts"
import { after } from "./Time.ts"
import { endOf, unreachable, type WorkerEnd } from "./WorkerEnd.ts"
import type { WorkerEvent, WorkerStatus } from "./WorkerEvent.ts"

/** A started worker. */
export interface RunningWorker {
  readonly name: string
  readonly state: () => WorkerStatus
  /** Calls `listener` with all that happens until the returned function is called. */
  readonly on: (listener: (event: WorkerEvent) => void) => () => void
  /**
   * Takes nothing more, hands back what waits, lets handlers end for the grace, stops the others and hands their runs back.
   * Again, it can only shorten the grace. Resolves with the end of the worker.
   */
  readonly stop: (options?: { readonly grace?: TimeSpan }) => Promise<WorkerEnd>
  /** Why it ended, once it has. Never rejects: `error` says what a person has to do. */
  readonly done: Promise<WorkerEnd>
}

/** How to start it. */
export interface StartWorkerOptions {
  /** Hears events from the very first one. */
  readonly onEvent?: (event: WorkerEvent) => void
}

/**
 * A worker; nothing is checked or opened before `start`, which rejects with what is wrong with the options. It resolves
 * before there is a connection: the worker tries for ever, unless `giveUp` says otherwise.
 */
export const worker = (
  options: WorkerOptions,
): { readonly start: (start?: StartWorkerOptions) => Promise<RunningWorker> } => ({
  start: async ({ onEvent } = {}) => {
    const setting = await checkOptions(options)
    const live: { say?: (said: Said) => void } = {}
    const place = await openPlace(setting, (said) => live.say?.(said))
    const { offered } = setting
    const jobs = [...place.jobs].filter((name) => offered === null || offered.has(name))
    try {
      if (jobs.length === 0) throw noHandler(setting.file)
      const who = checkIntroduction({ ...setting.who, jobs })
      return run(setting, who, place, live, onEvent)
    } catch (error) {
      await place.close()
      throw error
    }
  },
})

const noHandler = (file: string | null): InvalidInput =>
  new InvalidInput({
    field: file === null ? "jobs" : "config",
    reason: "no job in it has a handler, and without one there is nothing to do for this worker",
    next: "Give jobs whose `run` is a function: `onWorkers()` is for the server's config.",
  })

const openPlace = (setting: WorkerSetting, say: (said: Said) => void): Promise<Place> => {
  const { handlers, file, project } = setting
  return handlers === "here" || file === null
    ? openHere(project, say)
    : openRooms({ kind: handlers, file, project, say })
}

const run = (
  setting: WorkerSetting,
  who: ReturnType<typeof checkIntroduction>,
  place: Place,
  live: { say?: (said: Said) => void },
  onEvent: ((event: WorkerEvent) => void) | undefined,
): RunningWorker => {
  const listeners = new Set<(event: WorkerEvent) => void>(onEvent === undefined ? [] : [onEvent])
  const tell = (event: WorkerEvent): void => {
    for (const listener of listeners) Result.try(() => listener(event))
  }
  let isOver = false
  const done = Promise.withResolvers<WorkerEnd>()
  const end = async (ended: WorkerEnd): Promise<void> => {
    if (isOver) return
    isOver = true
    giveUp()
    attempts.close()
    reports.close()
    await place.close()
    unguard()
    tell({ kind: "over", end: ended })
    done.resolve(ended)
  }

  const session = new Session({
    connect: connectWebSocket,
    url: setting.url,
    token: setting.token,
    who,
    begin: (assign, waitedMillis) => attempts.begin(assign, waitedMillis),
    stop: (runId, token, reason) => attempts.stop(runId, token, reason),
    tell: (event) => {
      if (event.kind === "connected") connected(event.resumed)
      tell(event)
    },
    over: (closed) => {
      const { drain, hand } = session.state
      void end(endOf(who.worker, closed, drain?.self === true, hand.size))
    },
  })
  const attempts = new Attempts({
    place,
    stopGraceMillis: setting.stopGraceMillis,
    ended: (attempt, outcome, runsOn) => {
      reports.end(attempt)
      const { run: runId, token } = attempt
      session.step({
        kind: "ended",
        run: runId,
        token,
        outcome: fitting(outcome, session.state.welcome?.payloadBytesMax ?? Number.POSITIVE_INFINITY),
        ...(runsOn ? { runsOn } : {}),
      })
    },
    gone: ({ run: runId, token }) =>
      session.step({ kind: "ended", run: runId, token, outcome: { kind: "released" } }),
    tell,
  })
  const reports = new Reports({
    send: (report) => session.step({ kind: "report", report }),
    canSend: () => session.isFlowing,
    onDropped: (lines) => tell({ kind: "dropped", lines }),
  })
  const connected = (resumed: boolean): void => {
    giveUp()
    const { welcome } = session.state
    if (welcome === null) return
    // A server allows at least as many as the worker may have in hand.
    const most = Math.max(welcome.messagesPerSecondMax, who.slots + (who.prefetch ?? 0))
    reports.allow(most, welcome.heartbeatMillis, !resumed)
  }
  live.say = (said) => {
    if (said.kind === "trouble") return tell(said)
    const attempt = attempts.viewOf(said.run, said.token)
    // What an attempt says after its end is about nothing any more.
    if (attempt === undefined || isOver) return
    if (said.kind === "log") {
      tell({ kind: "log", ...attempt, line: said.line })
      return reports.log(attempt, said.line)
    }
    const { percent, note } = said
    tell({ kind: "progress", ...attempt, percent, note })
    reports.progress(attempt, percent, note)
  }
  const unguard = setting.guard
    ? guardProcess({
        publish: (event) => {
          if (event.kind === "trouble") tell(event)
        },
      })
    : () => {}

  let why = "no answer"
  const giveUp =
    setting.giveUpMillis === null
      ? () => {}
      : after(setting.giveUpMillis, () => {
          session.abandon()
          void end(unreachable(who.worker, setting.url, why, setting.giveUpMillis ?? 0))
        })
  listeners.add((event) => {
    if (event.kind === "unreachable") why = event.reason
  })

  session.step({ kind: "tick" })
  return {
    name: who.worker,
    state: () => statusOf(session, who.jobs),
    on: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop: ({ grace } = {}) => {
      const graceMillis =
        grace === undefined ? setting.graceMillis : Result.getOrThrow(parseSpan("grace", grace))
      if (isOver) return done.promise
      tell({ kind: "draining", by: "worker", graceMillis })
      session.step({ kind: "drain", graceMillis, reason: "the worker stops" })
      if (session.state.hand.size === 0) session.leave()
      return done.promise
    },
    done: done.promise,
  }
}

const statusOf = ({ state }: Session, jobs: ReadonlyArray<string>): WorkerStatus => ({
  name: state.who.worker,
  phase: state.phase === "open" ? "connected" : state.phase === "over" ? "over" : "connecting",
  draining: state.drain !== null,
  node: state.welcome?.node ?? null,
  session: state.welcome?.session ?? null,
  jobs,
  slots: state.who.slots,
  running: runningOf(state),
  strays: state.strays.size,
  inHand: [...state.hand.values()].map(({ run, attempt, token, state: at }) => ({
    run,
    attempt,
    token,
    state: at,
  })),
})

/** The outcome as this server takes it: its limit may be lower than that of handlers anywhere else. */
const fitting = (outcome: Outcome, bytesMax: number): Outcome => {
  if (outcome.kind !== "succeeded" || outcome.output === null) return outcome
  const bytes = utf8Length(outcome.output)
  if (bytes <= bytesMax) return outcome
  const message = `output: ${bytes} bytes are more than the ${bytesMax} allowed. Store the data elsewhere and return a reference to it.`
  return failed({ name: "InvalidPayload", message, kind: "payload" }, false)
}
