// Worker tokens in the store: making, listing and revoking them. Servers find out by themselves; nothing is sent to them.
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { parseName } from "../../core/domain/Job.ts"
import {
  type CredentialOptions,
  credentialsOf,
  type CredentialsStore,
  type CredentialState,
  makeCredential,
  revokeCredential,
  stateOf,
} from "./storedCredentials.ts"
import { tokenText } from "./Token.ts"

/** The part of a store that tokens need. */
export type TokenStore = CredentialsStore

/** What a new token allows. */
export interface TokenOptions extends CredentialOptions {
  /** Queues whose runs its workers may be given, at most 100; without it: all. */
  readonly queues?: ReadonlyArray<string>
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
  readonly state: CredentialState
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
  const queues = options.queues === undefined ? null : checkQueues(options.queues)
  const made = await makeCredential(store, "worker", options, { queues })
  const { id, name, createdAt, expiresAt } = made
  return { token: tokenText(made), view: { id, name, queues, createdAt, expiresAt, state: "valid" } }
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
  return (await credentialsOf(store, "worker")).map(({ id, name, scope, createdAt, expiresAt }) => {
    const queues = queuesOf(scope)
    const state = stateOf(queues, expiresAt, now)
    return { id, name, queues: queues === undefined ? [] : queues, createdAt, expiresAt, state }
  })
}

/**
 * Revokes the token with this id or name; answers its id. Servers end its sessions within five seconds. `left`:
 * how many others there are. Throws `NotFound`.
 */
export const revokeToken = (
  store: TokenStore,
  idOrName: string,
): Promise<{ readonly id: string; readonly name: string; readonly left: number }> =>
  revokeCredential(store, "worker", idOrName)
