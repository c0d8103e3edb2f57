// Delivers events to webhooks, at least once: what was tried is stored before the reader's place moves on, so a crash in
// between repeats and never leaves out. One server of a store does it, by a lease. Events are first tried in the order of
// the journal, a few at a time; what failed is tried again by itself, later and later, and holds up none of its
// successors. A receiver that answers nothing gets one new event now and then, until it takes one: what waits for it waits
// in the journal, and not in a queue of its own.
import type { Resolve } from "../../../adapters/executor-http/exchange.ts"
import type { CheckedRules } from "../../../adapters/executor-http/Request.ts"
import type { PutRecord } from "../../../core/ports/StoreDriver.ts"
import { isWanted } from "../events/EventFilter.ts"
import { gapEvent } from "../events/EventStreams.ts"
import { eventsOf } from "../events/Batch.ts"
import type { Journal } from "../events/Journal.ts"
import { type Position, positionText } from "../events/Position.ts"
import type { CloudEvent } from "../events/cloudEvents.ts"
import { makeLease } from "../Lease.ts"
import { pause } from "../pause.ts"
import { sendEvent, type Sent } from "./sendEvent.ts"
import {
  allWebhooks,
  type Delivery,
  deliveryRecord,
  dueBefore,
  kinds,
  newState,
  pendingParts,
  pendingRecord,
  recordOf,
  stateRecord,
  type Webhook,
  webhookRecord,
  type WebhookState,
  type WebhookStore,
} from "./Webhook.ts"

/** How events are delivered. */
export interface DelivererOptions {
  readonly store: WebhookStore
  readonly journal: Pick<Journal, "read" | "wait" | "newest" | "tail">
  readonly rules: CheckedRules
  readonly onTrouble: (error: unknown) => void
  readonly resolve?: Resolve
  readonly now?: () => number
  /** In [0, 1). */
  readonly random?: () => number
  /** Default 15 s. */
  readonly leaseMillis?: number
  /** How often it is looked for new webhooks and due tries, at least; default 1 s. */
  readonly lookMillis?: number
}

/** Delivers until it is stopped. */
export interface Deliverer {
  readonly stop: () => Promise<void>
}

/** The waits after the first, second ... failed try: eight tries in about a day. */
export const retryDelays: ReadonlyArray<number> = [
  10_000, 60_000, 300_000, 1_800_000, 7_200_000, 21_600_000, 54_000_000,
]
/** A webhook that took nothing for so long is disabled. */
export const failingMillisMax = 3 * 86_400_000
/** First tries at the same time. */
const togetherMax = 8
const dueMax = 100
const holdMax = 600_000
/** A place that moved on over events that nobody wants is stored this seldom. */
const idleMillis = 5_000
const breathMillis = 50

interface Stand {
  state: WebhookState
  version: number
  storedAt: number
}

/** Starts to deliver. */
export const startDeliverer = (options: DelivererOptions): Deliverer => {
  const { store, journal, rules, onTrouble, now = Date.now, random = Math.random } = options
  const { leaseMillis = 15_000, lookMillis = 1_000 } = options
  const lease = makeLease(store, "webhooks", leaseMillis)
  const stopped = new AbortController()
  const stands = new Map<string, Stand>()
  const busy = new Map<string, Promise<void>>()
  const sending = {
    rules,
    now,
    signal: stopped.signal,
    ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
  }

  const standOf = async (id: string): Promise<Stand> => {
    const known = stands.get(id)
    if (known !== undefined) return known
    const row = await recordOf(store, kinds.state, id)
    const stand: Stand =
      row === undefined
        ? { state: newState(await journal.newest()), version: 0, storedAt: 0 }
        : { state: JSON.parse(row.body) as WebhookState, version: row.version, storedAt: now() }
    stands.set(id, stand)
    return stand
  }

  /** Stores what was tried, then the place: in this order, as what is between is repeated, and never missed. */
  const keep = async (webhook: Webhook, records: ReadonlyArray<PutRecord>): Promise<void> => {
    const stand = await standOf(webhook.id)
    const answers = await store.putRecords([...records, stateRecord(webhook.id, stand.state, stand.version)])
    const version = answers.at(-1) ?? 0
    // Somebody else set the place, as when it is enabled again: that counts.
    if (version === 0) stands.delete(webhook.id)
    else Object.assign(stand, { version, storedAt: now() })
  }

  /** What was cut off by our own stop was not tried; what succeeded before is kept. */
  const wasCut = (sent: ReadonlyArray<Sent>): boolean =>
    stopped.signal.aborted && sent.some(({ attempt }) => attempt.error !== null)

  const noteSent = (stand: Stand, sent: ReadonlyArray<Sent>, isNew: boolean): void => {
    const { state } = stand
    if (sent.some(({ attempt }) => attempt.error === null)) {
      stand.state = { ...state, failures: 0, holdUntil: 0, failingSince: null }
      return
    }
    const failures = state.failures + (isNew ? 1 : 0)
    stand.state = {
      ...state,
      failures,
      failingSince: state.failingSince ?? now(),
      holdUntil: isNew ? now() + Math.min(holdMax, 5_000 * 2 ** Math.min(failures - 1, 10)) : state.holdUntil,
    }
  }

  const tried = (webhook: Webhook, before: Delivery, sent: Sent): ReadonlyArray<PutRecord> => {
    const attempts = [...before.attempts, sent.attempt]
    const at = now()
    if (sent.attempt.error === null)
      return [deliveryRecord(webhook.id, { ...before, state: "delivered", attempts, nextAt: null }, at)]
    const delay = retryDelays[attempts.length - 1]
    if (delay === undefined || sent.isGone)
      return [deliveryRecord(webhook.id, { ...before, state: "failed", attempts, nextAt: null }, at)]
    // A fifth of jitter, so that what failed together does not come together.
    const nextAt = at + Math.round(Math.max(delay * (0.9 + random() * 0.2), sent.waitMillis))
    return [
      deliveryRecord(webhook.id, { ...before, state: "pending", attempts, nextAt }, at),
      pendingRecord(webhook.id, before.event.id, nextAt),
    ]
  }

  const checkHealth = async (webhook: Webhook, sent: ReadonlyArray<Sent>): Promise<void> => {
    const { failingSince } = (await standOf(webhook.id)).state
    const isGone = sent.some((each) => each.isGone)
    if (!isGone && (failingSince === null || now() - failingSince < failingMillisMax)) return
    const note = isGone
      ? "Disabled: the receiver answered 410 Gone"
      : "Disabled: no delivery succeeded for three days"
    await store.putRecords([webhookRecord({ ...webhook, enabled: false, note })])
  }

  const retry = async (webhook: Webhook, ids: ReadonlyArray<string>): Promise<void> => {
    for (const id of ids) {
      if (stopped.signal.aborted || !lease.isHeld()) return
      const row = await recordOf(store, kinds.delivery, pendingParts(id).delivery)
      const before = row === undefined ? undefined : (JSON.parse(row.body) as Delivery)
      // One that is to be tried at another time, as after a resend, is not this one's.
      const isMeant =
        before?.nextAt != null && pendingRecord(webhook.id, before.event.id, before.nextAt).id === id
      if (before !== undefined && isMeant) {
        const sent = await sendEvent(webhook, before.event, sending)
        if (wasCut([sent])) return
        const stand = await standOf(webhook.id)
        noteSent(stand, [sent], false)
        await keep(webhook, tried(webhook, before, sent))
        await checkHealth(webhook, [sent])
      }
      await store.deleteRecords(kinds.pending, [id])
    }
  }

  /** What is new for a webhook, with the place behind it; at most so many. */
  const next = async (
    webhook: Webhook,
    from: Position,
    max: number,
  ): Promise<{ readonly events: ReadonlyArray<CloudEvent>; readonly position: Position }> => {
    const read = await journal.read(from)
    if ("gap" in read) return { events: [gapEvent(positionText(read.gap))], position: read.gap }
    const filter = { types: webhook.types, jobs: webhook.jobs, run: null, namespace: null }
    const events: Array<CloudEvent> = []
    let position = from
    for (const each of eventsOf(read.batches, from)) {
      if (events.length >= max) break
      position = each.position
      if (isWanted(filter, each.draft)) events.push(each.event)
    }
    return { events, position }
  }

  const deliver = async (webhook: Webhook): Promise<void> => {
    while (!stopped.signal.aborted && lease.isHeld()) {
      const stand = await standOf(webhook.id)
      if (now() < stand.state.holdUntil) return
      const max = stand.state.failures > 0 ? 1 : togetherMax
      const { events, position } = await next(webhook, stand.state.position, max)
      if (events.length === 0) {
        if (position === stand.state.position) return
        stand.state = { ...stand.state, position }
        if (now() - stand.storedAt >= idleMillis) await keep(webhook, [])
        continue
      }
      const sent = await Promise.all(events.map((event) => sendEvent(webhook, event, sending)))
      if (wasCut(sent)) return
      noteSent(stand, sent, true)
      stand.state = { ...stand.state, position }
      const none = { state: "pending", attempts: [], nextAt: null } as const
      await keep(
        webhook,
        sent.flatMap((each, place) => tried(webhook, { ...none, event: events[place] as CloudEvent }, each)),
      )
      await checkHealth(webhook, sent)
      // Its record may be another one now.
      if (sent.some((each) => each.attempt.error !== null)) return
    }
  }

  let hooks: ReadonlyArray<Webhook> = []
  let listedAt = Number.NEGATIVE_INFINITY
  const turn = async (): Promise<void> => {
    if (performance.now() - listedAt < lookMillis) {
      for (const hook of hooks) begin(hook, [])
      return
    }
    const all = await allWebhooks(store)
    hooks = all.filter(({ enabled }) => enabled)
    listedAt = performance.now()
    const before = dueBefore(now())
    const due = await store.records({ kind: kinds.pending, before, order: "ascending", limit: dueMax })
    const byHook = Map.groupBy(
      due.map(({ id }) => id),
      (id) => pendingParts(id).webhook,
    )
    for (const hook of hooks) begin(hook, byHook.get(hook.id) ?? [])
    // Of webhooks that are gone or disabled nothing is tried again.
    const enabled = new Set(hooks.map(({ id }) => id))
    const over = [...byHook].filter(([id]) => !enabled.has(id)).flatMap(([, ids]) => ids)
    if (over.length > 0) await store.deleteRecords(kinds.pending, over)
  }
  const begin = (hook: Webhook, due: ReadonlyArray<string>): void => {
    if (busy.has(hook.id)) return
    const work = retry(hook, due)
      .then(() => deliver(hook))
      .catch((error: unknown) => {
        // What is in the store counts.
        stands.delete(hook.id)
        if (!stopped.signal.aborted) onTrouble(error)
      })
      .finally(() => busy.delete(hook.id))
    busy.set(hook.id, work)
  }

  let askedAt = Number.NEGATIVE_INFINITY
  const loop = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const seen = journal.tail()
      try {
        if (performance.now() - askedAt > leaseMillis / 3) {
          askedAt = performance.now()
          const before = lease.isHeld()
          // Another one may have gone on in the meantime.
          if (!(await lease.hold()) || !before) stands.clear()
        }
        if (lease.isHeld()) await turn()
      } catch (error) {
        if (!stopped.signal.aborted) onTrouble(error)
      }
      if (!lease.isHeld() || hooks.length === 0) await pause(lookMillis, stopped.signal)
      else {
        const wait = AbortSignal.any([stopped.signal, AbortSignal.timeout(lookMillis)])
        await journal.wait(seen, wait)
        // What comes in a burst is looked at together.
        await pause(breathMillis, stopped.signal)
      }
    }
  }
  const looping = loop()

  return {
    stop: async () => {
      stopped.abort()
      await looping
      await Promise.all(busy.values())
      await lease.leave().catch(onTrouble)
    },
  }
}
