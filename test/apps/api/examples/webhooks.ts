// Examples for the routes of webhooks.
import type { webhooksApi } from "../../../../apps/api/webhooks.ts"
import {
  allWebhooks,
  deliveryRecord,
  kinds,
  newSecret,
  webhookRecord,
  webhooksMax,
} from "../../../../apps/server/webhooks/Webhook.ts"
import type { Examples, Stage } from "./Example.ts"

export const config = {}

// No name ends so: nothing is sent anywhere.
const body = { name: "billing", url: "https://hooks.invalid/a" }
const event = "0000000000000001-00000001-0"
const none = { params: { id: "7c0c4a0e-5d7a-4c0b-9a55-00000000dead" } }
const notFound = { gives: "notFound", ask: none } as const

/** There may be so many and no more, and each check of a route makes one. */
const clear = async ({ store }: Stage): Promise<void> => {
  const ids = (await allWebhooks(store)).map(({ id }) => id)
  await store.deleteRecords(kinds.webhook, ids)
  await store.deleteRecords(kinds.state, ids)
}
const full = async (stage: Stage) => {
  await clear(stage)
  for (let place = 0; place < webhooksMax; place++)
    await stage.store.putRecords([
      webhookRecord(
        {
          ...body,
          id: `7c0c4a0e-5d7a-4c0b-9a55-${String(place).padStart(12, "0")}`,
          types: [],
          jobs: [],
          enabled: true,
          note: null,
          createdAt: 0,
          secrets: [{ text: newSecret(), until: null }],
          version: 0,
        },
        null,
      ),
    ])
  return { body }
}
const ofMade = async (stage: Stage) => {
  await clear(stage)
  const { id } = await stage.ask("POST", "/v1/webhooks", body)
  return { params: { id: id as string } }
}
const ofDelivery = async (stage: Stage) => {
  const { params } = await ofMade(stage)
  const at = await stage.store.now()
  const told = {
    specversion: "1.0",
    id: event,
    source: "/nodes/n",
    type: "uhrwerk.run.ended",
    time: new Date(at).toISOString(),
    datacontenttype: "application/json",
    data: {},
  } as const
  const attempts = [{ at, millis: 12, status: 500, error: "the answer was 500" }]
  const delivery = { event: told, state: "failed", attempts, nextAt: null } as const
  await stage.store.putRecords([deliveryRecord(params.id, delivery, at)])
  return { params: { ...params, event } }
}

export const examples: Examples<typeof webhooksApi> = {
  createWebhook: [
    {
      gives: 201,
      ask: async (stage) => {
        await clear(stage)
        return { body }
      },
    },
    { gives: "invalidInput", ask: { body: { ...body, url: "ftp://hooks.invalid" } } },
    {
      gives: "conflict",
      ask: full,
    },
  ],
  listWebhooks: [
    {
      gives: 200,
      ask: async (stage) => {
        await ofMade(stage)
        return { query: { limit: 2 } }
      },
    },
    { gives: "badCursor", ask: { query: { cursor: "of another list" } } },
  ],
  getWebhook: [{ gives: 200, ask: ofMade }, notFound],
  editWebhook: [
    { gives: 200, ask: async (stage) => ({ ...(await ofMade(stage)), body: { enabled: false } }) },
    { gives: "notFound", ask: { ...none, body: { enabled: false } } },
    {
      gives: "invalidInput",
      ask: async (stage) => ({ ...(await ofMade(stage)), body: { url: "ftp://hooks.invalid" } }),
    },
  ],
  deleteWebhook: [{ gives: 204, ask: ofMade }, notFound],
  rotateWebhookSecret: [{ gives: 200, ask: ofMade }, notFound],
  listDeliveries: [
    { gives: 200, ask: async (stage) => ({ params: { id: (await ofDelivery(stage)).params.id } }) },
    notFound,
    {
      gives: "badCursor",
      ask: async (stage) => ({ ...(await ofMade(stage)), query: { cursor: "of another list" } }),
    },
  ],
  resendDelivery: [
    { gives: 202, ask: ofDelivery },
    { gives: "notFound", ask: async (stage) => ({ params: { ...(await ofMade(stage)).params, event } }) },
    {
      gives: "conflict",
      ask: async (stage) => {
        const asked = await ofDelivery(stage)
        await stage.ask("PATCH", `/v1/webhooks/${asked.params.id}`, { enabled: false })
        return asked
      },
    },
  ],
  testWebhook: [{ gives: 200, ask: ofMade }, notFound],
}
