// `/v1/webhooks`: webhooks are of the whole store, so nobody who sees a namespace only may deal with them.
import { randomBytes, randomUUID } from "node:crypto"
import * as Result from "effect/Result"
import type { webhooksApi } from "../../api/webhooks.ts"
import { pageUsual } from "../../api/fields.ts"
import { refuse } from "../problems.ts"
import { sendEvent } from "../webhooks/sendEvent.ts"
import {
  allWebhooks,
  checkUrl,
  type Delivery,
  deliveryId,
  deliveryRecord,
  kinds,
  newSecret,
  newState,
  oldSecretMillis,
  pendingRecord,
  recordOf,
  stateRecord,
  type Webhook,
  webhookOf,
  webhookRecord,
  webhooksMax,
  type WebhookState,
} from "../webhooks/Webhook.ts"
import type { ApiParts } from "./ApiParts.ts"
import { cursorOf, placeOf } from "./cursor.ts"
import { checkMatch, etagOf } from "./etag.ts"
import type { Caller, Handlers } from "./Handler.ts"

/** Behind the routes. */
export const webhookHandlers: Handlers<typeof webhooksApi> = {
  createWebhook: async ({ body, caller, parts }) => {
    seesAll(caller)
    const { store, project, outlets } = parts
    const { name, url, types = [], jobs = [] } = body
    const { href } = Result.getOrThrow(checkUrl(url, project.works.rules))
    if ((await allWebhooks(store)).length >= webhooksMax)
      throw refuse("conflict", `There are ${webhooksMax} webhooks, and more may not be. Delete one.`)
    const secret = newSecret()
    const webhook: Webhook = {
      id: randomUUID(),
      name,
      url: href,
      types,
      jobs,
      enabled: true,
      note: null,
      createdAt: await store.now(),
      secrets: [{ text: secret, until: null }],
      version: 1,
    }
    // Its place first: without one it would begin where the deliverer finds it.
    const place = stateRecord(webhook.id, newState(await outlets.journal.newest()), 0)
    await store.putRecords([place, webhookRecord(webhook, 0)])
    const shown = viewOf(webhook, null)
    return {
      status: 201,
      body: { ...shown, secret },
      kept: shown,
      headers: { location: `/v1/webhooks/${webhook.id}`, etag: tagOf(webhook) },
      audit: { webhook: webhook.id, name, origin: new URL(href).origin },
    }
  },

  listWebhooks: async ({ query, caller, parts: { store } }) => {
    seesAll(caller)
    const { limit = pageUsual } = query
    const after = placeOf("webhooks", null, query.cursor, isUuid)
    const rows = await store.records({
      kind: kinds.webhook,
      ...(after === undefined ? {} : { after }),
      order: "ascending",
      limit: limit + 1,
    })
    const items = await Promise.all(rows.slice(0, limit).map((row) => shownOf(store, webhookOf(row))))
    const last = rows.length > limit ? items.at(-1) : undefined
    return {
      status: 200,
      body: { items, cursor: last === undefined ? null : cursorOf("webhooks", null, last.id) },
    }
  },

  getWebhook: async ({ params, caller, parts: { store } }) => {
    const webhook = await found(store, caller, params.id)
    return { status: 200, body: await shownOf(store, webhook), headers: { etag: tagOf(webhook) } }
  },

  editWebhook: async ({ params, body, headers, caller, parts }) => {
    const { store, project, outlets } = parts
    const before = await found(store, caller, params.id)
    checkMatch(headers, tagOf(before))
    const { url, ...rest } = body
    const href = url === undefined ? before.url : Result.getOrThrow(checkUrl(url, project.works.rules)).href
    const isBack = body.enabled === true && !before.enabled
    const isOff = body.enabled === false
    const edited = { ...before, ...rest, url: href, ...(isBack || isOff ? { note: null } : {}) }
    // Before it is enabled, or the deliverer would go on where it stood.
    if (isBack)
      await store.putRecords([stateRecord(before.id, newState(await outlets.journal.newest()), null)])
    const webhook = await stored(store, edited)
    return {
      status: 200,
      body: await shownOf(store, webhook),
      headers: { etag: tagOf(webhook) },
      audit: { webhook: webhook.id, name: webhook.name, changed: Object.keys(body) },
    }
  },

  deleteWebhook: async ({ params, headers, caller, parts: { store } }) => {
    const webhook = await found(store, caller, params.id)
    checkMatch(headers, tagOf(webhook))
    await store.deleteRecords(kinds.webhook, [webhook.id])
    await store.deleteRecords(kinds.state, [webhook.id])
    return { status: 204, audit: { webhook: webhook.id, name: webhook.name } }
  },

  rotateWebhookSecret: async ({ params, caller, parts: { store } }) => {
    const before = await found(store, caller, params.id)
    const secret = newSecret()
    const [old] = before.secrets
    const until = (await store.now()) + oldSecretMillis
    const secrets = [{ text: secret, until: null }, ...(old === undefined ? [] : [{ ...old, until }])]
    const shown = await shownOf(store, await stored(store, { ...before, secrets }))
    return {
      status: 200,
      body: { ...shown, secret },
      kept: shown,
      audit: { webhook: before.id, name: before.name },
    }
  },

  listDeliveries: async ({ params, query, caller, parts: { store } }) => {
    const { id } = await found(store, caller, params.id)
    const { limit = pageUsual } = query
    const prefix = deliveryId(id, "")
    const list = `deliveries ${id}`
    const place = placeOf(list, null, query.cursor, (text) => /^[\w-]{1,64}$/.test(text))
    const rows = await store.records({
      kind: kinds.delivery,
      prefix,
      ...(place === undefined ? {} : { before: prefix + place }),
      order: "descending",
      limit: limit + 1,
    })
    const items = rows.slice(0, limit).map(({ body }) => JSON.parse(body) as Delivery)
    const last = rows.length > limit ? items.at(-1) : undefined
    return {
      status: 200,
      body: { items, cursor: last === undefined ? null : cursorOf(list, null, last.event.id) },
    }
  },

  resendDelivery: async ({ params, caller, parts: { store } }) => {
    const webhook = await found(store, caller, params.id)
    if (!webhook.enabled) throw refuse("conflict", "This webhook is disabled. Enable it first.")
    const row = await recordOf(store, kinds.delivery, deliveryId(webhook.id, params.event))
    if (row === undefined)
      throw refuse("notFound", "There is no delivery of this event: it never was, or it is a week old.")
    const at = await store.now()
    const delivery: Delivery = { ...(JSON.parse(row.body) as Delivery), state: "pending", nextAt: at }
    await store.putRecords([
      deliveryRecord(webhook.id, delivery, at),
      pendingRecord(webhook.id, delivery.event.id, at),
    ])
    return { status: 202, body: delivery, audit: { webhook: webhook.id, event: delivery.event.id } }
  },

  testWebhook: async ({ params, caller, parts }) => {
    const webhook = await found(parts.store, caller, params.id)
    const at = await parts.store.now()
    const event = {
      specversion: "1.0",
      id: `test-${randomBytes(8).toString("hex")}`,
      source: `/nodes/${parts.engine().node()}`,
      type: "uhrwerk.webhook.test",
      time: new Date(at).toISOString(),
      datacontenttype: "application/json",
      data: { webhook: webhook.id },
    } as const
    const { attempt } = await sendEvent(webhook, event, { ...parts.outlets.sending, now: () => at })
    return {
      status: 200,
      body: attempt,
      audit: { webhook: webhook.id, status: attempt.status, error: attempt.error },
    }
  },
}

type Store = ApiParts["store"]

const isUuid = (id: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id)

const seesAll = ({ namespace }: Caller): void => {
  if (namespace !== null)
    throw refuse("forbidden", "Webhooks are told of all jobs; this key is for those of a namespace.")
}

const found = async (store: Store, caller: Caller, id: string): Promise<Webhook> => {
  seesAll(caller)
  const row = isUuid(id) ? await recordOf(store, kinds.webhook, id) : undefined
  if (row === undefined) throw refuse("notFound", "There is no webhook of this id.")
  return webhookOf(row)
}

const stored = async (store: Store, edited: Webhook): Promise<Webhook> => {
  const [version = 0] = await store.putRecords([webhookRecord(edited)])
  if (version === 0)
    throw refuse(
      "changed",
      "Somebody else changed it at the same time. Read it again, and make your change to that.",
    )
  return { ...edited, version }
}

const tagOf = ({ id, version }: Webhook): string => etagOf(id, version)

const shownOf = async (store: Store, webhook: Webhook) => {
  const row = await recordOf(store, kinds.state, webhook.id)
  return viewOf(webhook, row === undefined ? null : (JSON.parse(row.body) as WebhookState))
}

const viewOf = (webhook: Webhook, state: WebhookState | null) => {
  const { secrets: _, version: __, ...shown } = webhook
  return { ...shown, failingSince: state?.failingSince ?? null }
}
