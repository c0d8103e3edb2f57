// The engine: joins the stages to one service. The flow is one way: trigger -> wheel -> dispatch -> executor ->
// settlement; the way back is a write through the store and a hint. It runs until its scope ends, and stops
// without loss at any moment; `drain` is the polite way.
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import type { InvalidInput, InvalidSchedule, StoreError } from "../domain/Errors.ts"
import { makeIds } from "../domain/Ids.ts"
import type { NewSchedule } from "../domain/Schedule.ts"
import { type Events, makeEvents } from "../observe/Event.ts"
import { Executor } from "../ports/Executor.ts"
import { OnBroken } from "../observe/Supervisor.ts"
import { Notifier } from "../ports/Notifier.ts"
import { RunStore, type Store, StoreInfo } from "../ports/Store.ts"
import { makeAftermath } from "../run/Aftermath.ts"
import { type Dispatcher, makeDispatcher } from "../run/Dispatcher.ts"
import { makeFlowWatch } from "../run/FlowWatch.ts"
import { makeEnqueue } from "../run/Enqueue.ts"
import { makeReclaimer } from "../run/Reclaimer.ts"
import { makeSettler } from "../run/Settlement.ts"
import { makeTriggerParser } from "../trigger/Dialects.ts"
import { makePlanner } from "../trigger/Planner.ts"
import { makeParseTrigger } from "../trigger/Triggers.ts"
import { makeHorizon } from "../wheel/Horizon.ts"
import { makeWheelTimers } from "../wheel/WheelTimers.ts"
import type { DeskControl } from "../worker/Desk.ts"
import { type EngineConfig, engineDefaults } from "./EngineConfig.ts"
import type { EngineService } from "./EngineService.ts"
import { makeFlowOperations } from "./FlowOperations.ts"
import { makeMembership } from "./Membership.ts"
import { makeOrders } from "./Orders.ts"
import { saveCalendars } from "./SavedCalendars.ts"
import { makeScheduleHands } from "./ScheduleHands.ts"
import { saveSchedules } from "./SavedSchedules.ts"
import { makeRunsOf } from "./ScheduledRuns.ts"
import { isClaimedForWorkers, makeWorkersDesk } from "./WorkersDesk.ts"

export type { EngineService } from "./EngineService.ts"

/** The engine. */
export class Engine extends Context.Service<Engine, EngineService>()("uhrwerk/core/Engine") {
  /** Starts an engine with the layer's scope. */
  static readonly layer = (
    config: EngineConfig,
  ): Layer.Layer<Engine, StoreError | InvalidInput | InvalidSchedule, Store | Executor | Notifier> =>
    Layer.effect(
      Engine,
      Effect.suspend(() => {
        const events = makeEvents()
        if (config.onEvent !== undefined) events.listen(config.onEvent)
        const onBroken = (loop: string, error: string): void =>
          events.publish({ kind: "trouble", doing: `run the ${loop}, which begins anew`, error })
        return Effect.provideService(makeEngine(config, events), OnBroken, onBroken)
      }),
    )
}

// After the grace period: how long to wait for the store to take what is left.
const lastWritesMillis = 5000

const makeEngine = (
  config: EngineConfig,
  events: Events,
): Effect.Effect<
  EngineService,
  StoreError | InvalidInput | InvalidSchedule,
  Store | Executor | Notifier | Scope.Scope
> =>
  Effect.gen(function* () {
    const store = yield* RunStore
    const notifier = yield* Notifier
    const clock = yield* Clock.Clock
    const random = yield* Random.Random
    const now = () => clock.currentTimeMillisUnsafe()
    const ids = makeIds(now, () => (random.nextDoubleUnsafe() * 2 ** 32) | 0)
    const onTrouble = (doing: string, error: { readonly message: string }): void =>
      events.publish({ kind: "trouble", doing, error: error.message })

    const { capabilities } = yield* StoreInfo
    for (const text of capabilities.cautions ?? []) events.publish({ kind: "caution", text })

    // The loops of each part run before the parts after it are made: a start takes as long as its store.
    const later: { dispatcher?: Dispatcher; desk?: DeskControl | null; close?: () => void } = {}
    const wake = (): void => {
      later.dispatcher?.wake()
      later.desk?.wake()
    }
    let outdated = false
    const membership = yield* makeMembership({
      identity: config.identity,
      ids,
      leaseMillis: config.leaseMillis,
      onTrouble,
      onLost: (node) => {
        events.publish({ kind: "leaseLost", node })
        later.dispatcher?.stopAll("leaseLost")
        later.desk?.leaseLost()
      },
      onHeld: wake,
      onOutdated: ({ message }) => {
        outdated = true
        later.close?.()
        events.publish({ kind: "outdated", reason: message })
      },
    })
    const orders = yield* makeOrders({
      node: membership.id,
      pollMillis: config.pollMillis,
      onChange: () => {
        later.desk?.queuesChanged()
        wake()
      },
      onDrain: (order) => later.desk?.hold(order),
      onWorker: (order) => {
        if (order.kind === "drainWorker") later.desk?.drain(order.worker, order.graceMillis, order.reason)
        else later.desk?.disconnect(order.worker, order.reason)
      },
      onTrouble,
    })
    const settler = yield* makeSettler({
      book: config.book,
      random: () => random.nextDoubleUnsafe(),
      onTrouble: (error) => onTrouble("settle runs", error),
    })
    const horizon = yield* makeHorizon(
      wake,
      (error) => Effect.sync(() => onTrouble("load the horizon", error)),
      config.pollMillis,
    )
    const timers = yield* makeWheelTimers
    const flows = yield* makeFlowWatch({
      pollMillis: config.pollMillis,
      timers,
      events,
      isAwaited: (id): boolean =>
        (later.dispatcher?.carriesStepOf(id) ?? true) || later.desk?.carriesStepOf(id) === true,
      onDue: horizon.add,
      onClosed: () => {
        later.dispatcher?.checkCarried()
        later.desk?.check()
      },
      onTrouble,
    })
    const aftermath = makeAftermath({ events, flows, onDue: horizon.add })
    const { jobs: ownJobs } = yield* Executor
    const dispatcher = yield* makeDispatcher({
      book: config.book,
      slots: config.slots,
      pollMillis: config.pollMillis,
      node: membership.id,
      holdsLease: membership.holdsLease,
      open: orders.open,
      settler,
      flows,
      timers,
      events,
      aftermath,
      isWorkers: (run) =>
        later.desk != null && (later.desk.has(run) || isClaimedForWorkers(config.book, ownJobs, run)),
      onTrouble,
    })
    later.dispatcher = dispatcher
    const desk = yield* makeWorkersDesk({
      config,
      membership,
      open: orders.open,
      settler,
      aftermath,
      timers,
      events,
      ids,
      random: () => random.nextDoubleUnsafe(),
      isCarried: dispatcher.carries,
      follow: flows.add,
      onTrouble,
    })
    later.desk = desk
    yield* makeReclaimer({
      node: membership.id,
      everyMillis: Math.max(config.leaseMillis / 4, config.pollMillis),
      leaseMillis: config.leaseMillis,
      retentionMillis: config.retentionMillis,
      // Where the start of an engine ends all other leases, workers get the time to come back with what they have.
      holdMillis: desk !== null && !capabilities.shared ? config.leaseMillis : 0,
      events,
      wake: () => {
        wake()
        // This node may have no slot for them, and the others would find them with their next poll only.
        notifier.publish({ kind: "runs", dueAt: 0 })
      },
      onTrouble,
    })
    const enqueue = yield* makeEnqueue({ book: config.book, ids })

    const zones = config.zones ?? { version: null }
    const calendars = yield* saveCalendars(config.calendars ?? [])
    const parser = makeTriggerParser(config.dialects, zones)
    const parse = makeParseTrigger(parser, calendars.book)
    const parseOwn = makeParseTrigger(parser, calendars.ownBook)
    yield* saveSchedules(config.schedules, { zones, calendars, parse, parseOwn, events })
    const runsOf = makeRunsOf(config.book, ids)
    const hands = yield* makeScheduleHands({ runsOf, parse, zones, notifier, events })
    const planner = yield* makePlanner({
      parse,
      zones,
      sharing: {
        node: membership.id,
        leaseMillis: config.leaseMillis,
        shareFrom: config.shareFrom ?? engineDefaults.shareFrom,
      },
      pollMillis: config.pollMillis,
      events,
      onTrouble,
      runsOf: (schedule, { at, nominalAt }, late) =>
        runsOf(schedule, { nominalAt: nominalAt ?? at, dueAt: at, late }),
    })

    later.close = () => {
      planner.close()
      enqueue.close()
      dispatcher.close()
      desk?.close()
    }
    if (outdated) later.close()

    const unsubscribe = notifier.subscribe((hint) => {
      if (hint.kind === "schedules") planner.wake()
      else if (hint.kind === "cancelled") {
        dispatcher.cancel(hint.ids)
        desk?.cancel(hint.ids)
        desk?.check()
        flows.look()
      } else if (hint.dueAt > now()) horizon.add(hint.dueAt)
      else wake()
    })
    // What workers have begun stays theirs while the lease holds, for the server that they connect to next.
    const leave = Effect.suspend(() => (later.desk?.end() ? membership.lapse : membership.leave))
    // A scope that ends without a drain: nothing more is claimed, and handlers do not go on unseen.
    const abandon = Effect.sync(() => {
      unsubscribe()
      dispatcher.close()
      dispatcher.stopAll("leaseLost")
      desk?.close()
    })
    yield* Effect.addFinalizer(() => Effect.andThen(abandon, leave))
    // A fixed delay counts from the end of its run, a queue goes on with it, and so does catching up with all. Most
    // schedules wait for no end, and a look at the store for each would cost more than the rest of their planning.
    const heedless = new Set(
      config.schedules.filter((schedule) => !waitsForEnds(schedule)).map(({ id }) => id),
    )
    events.listen((event) => {
      if (event.kind !== "ended" || event.run.scheduleId === null) return
      if (!heedless.has(event.run.scheduleId)) planner.wake()
    })

    const drain = yield* Effect.cached(
      Effect.gen(function* () {
        later.close?.()
        yield* Effect.timeoutOption(enqueue.flushed, lastWritesMillis)
        yield* Effect.timeoutOption(dispatcher.idle, yield* Effect.sync(() => grace))
        dispatcher.stopAll("drain")
        const unbegun = desk?.handedBack ?? Effect.void
        const handedBack = [dispatcher.idle, dispatcher.sure, unbegun, settler.flushed]
        yield* Effect.timeoutOption(Effect.all(handedBack, { discard: true }), lastWritesMillis)
        yield* leave
        yield* Effect.timeoutOption(settler.flushed, lastWritesMillis)
      }),
    )
    let grace = 0

    const { open: _, ...orderCalls } = orders
    const flowOperations = yield* makeFlowOperations({ ids, now, notifier, flows })

    return {
      ...flowOperations,
      ...hands,
      ...orderCalls,
      events,
      desk,
      node: membership.id,
      look: (dueAt) => notifier.publish({ kind: "runs", dueAt }),
      load: () => ({ carried: dispatcher.size(), slots: config.slots, waitingInWheel: horizon.size() }),
      enqueue: enqueue.enqueue,
      enqueueAll: enqueue.enqueueAll,
      cancel: (runIds, reason) =>
        Effect.tap(store.cancel(runIds, reason), () =>
          Effect.sync(() => {
            notifier.publish({ kind: "cancelled", ids: runIds })
            notifier.publish({ kind: "schedules" })
          }),
        ),
      replay: (runIds) =>
        Effect.tap(store.replay(runIds, runIds.map(ids)), () =>
          Effect.sync(() => {
            notifier.publish({ kind: "runs", dueAt: now() })
            notifier.publish({ kind: "schedules" })
          }),
        ),
      drain: (graceMillis) =>
        Effect.suspend(() => {
          grace = graceMillis
          return drain
        }),
    }
  })

const waitsForEnds = ({ trigger, overlap, catchUp }: NewSchedule): boolean =>
  trigger.kind === "after" || catchUp?.mode === "all" || !["skip", "allow"].includes(overlap)
