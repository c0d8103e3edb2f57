// Worker tokens in the store: making, listing and revoking them. Servers find out by themselves; nothing is sent to them.
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { InvalidInput, NotFound } from "../../core/domain/Errors.ts"
import { parseName } from "../../core/domain/Job.ts"
import { parseSpan, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import type { CredentialRow, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { hashOf, makeToken, tokenText } from "./Token.ts"

/** The part of a store that tokens need. */
export type TokenStore = Pick<StoreDriver, "putCredential" | "credentials" | "deleteCredentials" | "now">

/** What a new token allows. */
export interface TokenOptions {
  /** For people, 1 to 128 characters; no other token has it. */
  readonly name: string
  /** Queues whose runs its workers may be given, at most 100; without it: all. */
  readonly queues?: ReadonlyArray<string>
  /** How long it is good for, at least a second; without it: until it is revoked. */
  readonly expires?: TimeSpan
}

/** A token as people see it: never with its secret, which is nowhere. Instants are those of the store's clock. */
export interface TokenView {
  readonly id: string
  readonly name: string
  /** `null`: all. */
  readonly queues: ReadonlyArray<string> | null
  readonly createdAt: number
  /** `null`: never. */
  readonly expiresAt: number | null
  /** `broken`: what the store says it allows cannot be read; it allows nothing. */
  readonly state: "valid" | "expired" | "broken"
}

const queuesMax = 100

const decodeScope = Schema.decodeUnknownResult(
  Schema.fromJsonString(Schema.Struct({ queues: Schema.NullOr(Schema.Array(Schema.String)) })),
)

/** The queues of a stored scope, `null` for all; `undefined`: it cannot be read. */
export const queuesOf = (scope: string): ReadonlyArray<string> | null | undefined =>
  Result.getOrUndefined(Result.map(decodeScope(scope), ({ queues }) => queues))

/** Makes a token and answers its text, which cannot be shown again: the store keeps a hash. Throws `InvalidInput`. */
export const createToken = async (
  store: TokenStore,
  options: TokenOptions,
): Promise<{ readonly token: string; readonly view: TokenView }> => {
  const name = Result.getOrThrow(parseName("name", options.name))
  const queues = options.queues === undefined ? null : checkQueues(options.queues)
  const expires =
    options.expires === undefined ? null : Result.getOrThrow(parseSpan("expires", options.expires, 1000))
  const made = makeToken()
  const createdAt = await store.now()
  const expiresAt = expires === null ? null : createdAt + expires
  const row = { id: made.id, kind: "worker", name, hash: hashOf(made.secret), expiresAt } as const
  const answer = await store.putCredential({ ...row, scope: JSON.stringify({ queues }) })
  // Its id is new, so it is the name.
  if (answer === "exists")
    throw new InvalidInput({
      field: "name",
      reason: `there is a token named "${name}" already`,
      next: `Choose another name, or revoke that one first: uhrwerk token revoke ${name}`,
    })
  return {
    token: tokenText(made),
    view: { id: made.id, name, queues, createdAt, expiresAt, state: "valid" },
  }
}

const checkQueues = (given: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (given.length === 0 || given.length > queuesMax)
    throw new InvalidInput({
      field: "queues",
      reason: `${given.length} queues are not 1 to ${queuesMax}`,
      next: "Name them, or leave them out for all.",
    })
  return [...new Set(given.map((queue) => Result.getOrThrow(parseName("queues", queue))))]
}

/** All worker tokens, in the order in which they were made. */
export const listTokens = async (store: TokenStore): Promise<ReadonlyArray<TokenView>> => {
  const now = await store.now()
  return (await workerTokens(store))
    .map(({ id, name, scope, createdAt, expiresAt }): TokenView => {
      const queues = queuesOf(scope)
      const state = queues === undefined ? "broken" : isExpired(expiresAt, now) ? "expired" : "valid"
      return { id, name, queues: queues === undefined ? [] : queues, createdAt, expiresAt, state }
    })
    .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
}

/**
 * Revokes the token with this id or name; answers its id. Servers end its sessions within five seconds. `left`:
 * how many others there are. Throws `NotFound`.
 */
export const revokeToken = async (
  store: TokenStore,
  idOrName: string,
): Promise<{ readonly id: string; readonly name: string; readonly left: number }> => {
  const rows = await workerTokens(store)
  const found = rows.find(({ id }) => id === idOrName) ?? rows.find(({ name }) => name === idOrName)
  if (found === undefined)
    throw new NotFound({
      id: idOrName,
      field: "token",
      reason: `there is no token "${idOrName}" in this store`,
      next: "List what there is: uhrwerk token list",
    })
  await store.deleteCredentials([found.id])
  return { id: found.id, name: found.name, left: rows.length - 1 }
}

/** The rows of worker tokens. */
export const workerTokens = async (
  store: Pick<TokenStore, "credentials">,
): Promise<ReadonlyArray<CredentialRow>> =>
  (await store.credentials()).filter(({ kind }) => kind === "worker")

/** Whether it is over at this instant. */
export const isExpired = (expiresAt: number | null, now: number): boolean =>
  expiresAt !== null && expiresAt <= now
