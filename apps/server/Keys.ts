// Keys for the HTTP API in the store: making, listing and revoking them, and when each was used last, coarsely. From the
// first key on the API asks for one, and to revoke the last one does not change that.
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { parseName } from "../../core/domain/Job.ts"
import type { CredentialRow, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { type KeyRole, keyRoles } from "../api/access.ts"
import {
  checkedCredential,
  type CredentialOptions,
  credentialsOf,
  type CredentialsStore,
  type CredentialState,
  makeCredential,
  revokeCredential,
  shutDoor,
  stateOf,
} from "./storedCredentials.ts"
import { keyText } from "./Token.ts"

/** The part of a store that keys need. */
export type KeyStore = CredentialsStore

/** The same, and when each was used. */
export type KeyUseStore = Pick<StoreDriver, "putRecords" | "records" | "deleteRecords">

/** What a key allows. */
export interface KeyScope {
  readonly role: KeyRole
  /** It sees jobs of this name, and of names that begin with it and a dot; `null`: all. */
  readonly namespace: string | null
}

/** A new key. */
export interface KeyOptions extends CredentialOptions {
  /** Default "viewer". */
  readonly role?: KeyRole
  /** Without it: all. */
  readonly namespace?: string
}

/** A key as people see it: never with its secret, which is nowhere. Instants are those of the store's clock. */
export interface KeyView {
  readonly id: string
  readonly name: string
  /** `null`: what it allows cannot be read, so it allows nothing. */
  readonly role: KeyRole | null
  readonly namespace: string | null
  readonly createdAt: number
  /** `null`: never. */
  readonly expiresAt: number | null
  readonly state: CredentialState
  /** To the minute; `null`: not in the last year. */
  readonly lastUsedAt: number | null
}

const decodeScope = Schema.decodeUnknownResult(
  Schema.fromJsonString(
    Schema.Struct({ role: Schema.Literals(keyRoles), namespace: Schema.NullOr(Schema.NonEmptyString) }),
  ),
)

/** A stored scope; `undefined`: it cannot be read. */
export const keyScopeOf = (scope: string): KeyScope | undefined => Result.getOrUndefined(decodeScope(scope))

/** Makes a key and answers its text, which cannot be shown again: the store keeps a hash. Throws `InvalidInput`. */
export const createKey = async (
  store: KeyStore,
  options: KeyOptions,
): Promise<{ readonly key: string; readonly view: KeyView }> => {
  checkedCredential(options)
  const { role = "viewer" } = options
  const namespace =
    options.namespace === undefined ? null : Result.getOrThrow(parseName("namespace", options.namespace))
  await shutDoor(store)
  const made = await makeCredential(store, "api", options, { role, namespace } satisfies KeyScope)
  const { id, name, createdAt, expiresAt } = made
  return {
    key: keyText(made),
    view: { id, name, role, namespace, createdAt, expiresAt, state: "valid", lastUsedAt: null },
  }
}

/** All keys, in the order in which they were made. */
export const listKeys = async (store: KeyStore & KeyUseStore): Promise<ReadonlyArray<KeyView>> => {
  const [now, rows, uses] = [await store.now(), await credentialsOf(store, "api"), await keyUses(store)]
  return rows.map((row) => keyView(row, now, uses.get(row.id) ?? null))
}

const keyView = (
  { id, name, scope, createdAt, expiresAt }: CredentialRow,
  now: number,
  lastUsedAt: number | null,
): KeyView => {
  const allowed = keyScopeOf(scope)
  const { role, namespace } = allowed ?? { role: null, namespace: null }
  return {
    id,
    name,
    role,
    namespace,
    createdAt,
    expiresAt,
    state: stateOf(allowed, expiresAt, now),
    lastUsedAt,
  }
}

/** Revokes the key with this id or name. Servers refuse it within five seconds. Throws `NotFound`. */
export const revokeKey = async (
  store: KeyStore & KeyUseStore,
  idOrName: string,
): Promise<{ readonly id: string; readonly name: string; readonly left: number }> => {
  const revoked = await revokeCredential(store, "api", idOrName)
  // A key that is revoked must not seem not to be, because something beside it cannot be removed.
  try {
    await store.deleteRecords(useKind, [revoked.id])
  } catch {
    // Then it goes with its year.
  }
  return revoked
}

const useKind = "key-use"
const yearMillis = 366 * 86_400_000
const pageSize = 1_000

const keyUses = async (store: KeyUseStore): Promise<ReadonlyMap<string, number>> => {
  const uses = new Map<string, number>()
  for (let after: string | undefined; ;) {
    const filter = { kind: useKind, order: "ascending", limit: pageSize } as const
    const rows = await store.records(after === undefined ? filter : { ...filter, after })
    for (const { id, updatedAt } of rows) uses.set(id, updatedAt)
    after = rows.at(-1)?.id
    if (rows.length < pageSize || after === undefined) return uses
  }
}

/** Keeps when keys are used: at most one write a minute for each key. A write that fails costs nobody anything. */
export const makeKeyUse = (
  store: Pick<KeyUseStore, "putRecords">,
  now: () => number,
): ((id: string) => void) => {
  const written = new Map<string, number>()
  return (id) => {
    const at = now()
    if (at - (written.get(id) ?? Number.NEGATIVE_INFINITY) < everyMillis) return
    if (written.size >= usesMax) written.clear()
    written.set(id, at)
    const record = { kind: useKind, id, body: "{}", expiresAt: Math.ceil(at) + yearMillis, expected: null }
    Promise.resolve()
      .then(() => store.putRecords([record]))
      .catch(() => undefined)
  }
}
const everyMillis = 60_000
// As many as there may be keys; more only if keys come and go.
const usesMax = 10_000
