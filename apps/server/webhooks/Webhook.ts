// A webhook as records: what an administrator says of it, and apart from that where its deliveries stand, which changes
// all the time. Its secrets are kept as they are and not as hashes, since whoever signs needs them: who can read the
// store can sign.
import { randomBytes } from "node:crypto"
import * as Result from "effect/Result"
import { isIP } from "node:net"
import { isAllowedAddress } from "../../../adapters/executor-http/Addresses.ts"
import { isListed } from "../../../adapters/executor-http/Origins.ts"
import type { CheckedRules } from "../../../adapters/executor-http/Request.ts"
import { InvalidInput } from "../../../core/domain/Errors.ts"
import type { PutRecord, RecordRow } from "../../../core/ports/StoreDriver.ts"
import type { AskedStore } from "../api/ApiParts.ts"
import type { CloudEvent } from "../events/cloudEvents.ts"
import type { Position } from "../events/Position.ts"

/** The part of a store that webhooks are kept in. */
export type WebhookStore = Pick<AskedStore, "putRecords" | "records" | "deleteRecords" | "now">

/** A secret; an old one signs, too, until an instant. */
export interface Secret {
  readonly text: string
  readonly until: number | null
}

/** What is said of a webhook. */
export interface Webhook {
  readonly id: string
  readonly name: string
  readonly url: string
  /** As in `EventFilter`. */
  readonly types: ReadonlyArray<string>
  readonly jobs: ReadonlyArray<string>
  readonly enabled: boolean
  /** Why it was disabled, if nobody did it. */
  readonly note: string | null
  readonly createdAt: number
  /** The newest first. */
  readonly secrets: ReadonlyArray<Secret>
  /** Of its record. */
  readonly version: number
}

/** Where its deliveries stand. */
export interface WebhookState {
  readonly position: Position
  /** First tries that failed since the last success. */
  readonly failures: number
  /** Nothing new is sent before. */
  readonly holdUntil: number
  readonly failingSince: number | null
}

/** One try. */
export interface Attempt {
  readonly at: number
  readonly millis: number
  /** `null`: there was no answer. */
  readonly status: number | null
  /** Why it failed; `null`: it did not. */
  readonly error: string | null
}

/** What became of an event for a webhook. */
export interface Delivery {
  readonly event: CloudEvent
  readonly state: "pending" | "delivered" | "failed"
  readonly attempts: ReadonlyArray<Attempt>
  readonly nextAt: number | null
}

/** Kinds of records. */
export const kinds = {
  webhook: "webhook",
  state: "webhook-state",
  delivery: "webhook-delivery",
  pending: "webhook-pending",
} as const

/** Webhooks of a store. */
export const webhooksMax = 50
/** How long deliveries are kept. */
export const deliveryKeptMillis = 7 * 86_400_000
/** How long the secret before signs beside the new one. */
export const oldSecretMillis = 86_400_000

const secretBytes = 32

/** 256 random bits, as Standard Webhooks writes them. */
export const newSecret = (): string => `whsec_${randomBytes(secretBytes).toString("base64")}`

/** A webhook of its record. */
export const webhookOf = ({ id, body, version }: Pick<RecordRow, "id" | "body" | "version">): Webhook => ({
  ...(JSON.parse(body) as Omit<Webhook, "id" | "version">),
  id,
  version,
})

/** Its record; `expected` as in `PutRecord`. */
export const webhookRecord = (
  { id, version, ...body }: Webhook,
  expected: number | null = version,
): PutRecord => ({
  kind: kinds.webhook,
  id,
  body: JSON.stringify(body),
  expiresAt: null,
  expected,
})

/** The record of its state. */
export const stateRecord = (id: string, state: WebhookState, expected: number | null): PutRecord => ({
  kind: kinds.state,
  id,
  body: JSON.stringify(state),
  expiresAt: null,
  expected,
})

/** One that begins behind a position. */
export const newState = (position: Position): WebhookState => ({
  position,
  failures: 0,
  holdUntil: 0,
  failingSince: null,
})

/** The record with a key, or none. */
export const recordOf = async (
  store: Pick<WebhookStore, "records">,
  kind: string,
  id: string,
): Promise<RecordRow | undefined> => {
  const [row] = await store.records({ kind, prefix: id, order: "ascending", limit: 1 })
  return row?.id === id ? row : undefined
}

/** All of a store. */
export const allWebhooks = async (store: Pick<WebhookStore, "records">): Promise<ReadonlyArray<Webhook>> =>
  (await store.records({ kind: kinds.webhook, order: "ascending", limit: webhooksMax })).map(webhookOf)

/** The id of a delivery's record. */
export const deliveryId = (webhook: string, event: string): string => `${webhook}:${event}`

/** The record of a delivery, and that which says when it is tried again. */
export const deliveryRecord = (webhook: string, delivery: Delivery, at: number): PutRecord => ({
  kind: kinds.delivery,
  id: deliveryId(webhook, delivery.event.id),
  body: JSON.stringify(delivery),
  expiresAt: at + deliveryKeptMillis,
  expected: null,
})

const instantLength = 15

/** What ids of pending deliveries that are due before an instant are below. */
export const dueBefore = (at: number): string => String(at).padStart(instantLength, "0")

/** So that what is due is read in order of time, and nothing else. */
export const pendingRecord = (webhook: string, event: string, nextAt: number): PutRecord => ({
  kind: kinds.pending,
  id: `${dueBefore(nextAt)}:${deliveryId(webhook, event)}`,
  body: "{}",
  expiresAt: null,
  expected: null,
})

/** Of a pending record's id: the webhook, and the delivery's record. */
export const pendingParts = (id: string): { readonly webhook: string; readonly delivery: string } => {
  const delivery = id.slice(instantLength + 1)
  return { delivery, webhook: delivery.slice(0, delivery.indexOf(":")) }
}

/**
 * Checks where a webhook goes: https to anywhere that is public, http only to an origin of the config's
 * `executors.request.origins`. What a name stands for is checked when it is sent to. Errors do not quote the address: its
 * path may be a secret.
 */
export const checkUrl = (text: string, rules: CheckedRules): Result.Result<URL, InvalidInput> => {
  const fail = (reason: string, next: string) => Result.fail(new InvalidInput({ field: "url", reason, next }))
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return fail("it is not the address of a web server", "Give one such as `https://example.com/hook`.")
  if (url.username !== "" || url.password !== "")
    return fail("it has a user or a password in it", "Leave them out: requests are signed.")
  if (url.protocol === "http:" && !isListed(url, rules.origins))
    return fail(
      "it is not https",
      "Use https, or add its origin to the config's `executors.request.origins`, if it may be asked in the clear.",
    )
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
  if (isIP(host) !== 0 && !isAllowedAddress(host, rules.networks))
    return fail(
      "its address is not public",
      "Give another one, or add its network to the config's `executors.request.networks`.",
    )
  return Result.succeed(url)
}
