// What worker tokens and API keys have in common in the store: making, finding and revoking a row. The secret is told once,
// to whoever makes it; the store keeps its hash. Servers find out by themselves; nothing is sent to them.
import * as Result from "effect/Result"
import { InvalidInput, NotFound } from "../../core/domain/Errors.ts"
import { parseName } from "../../core/domain/Job.ts"
import { parseSpan, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import type { CredentialKind, CredentialRow, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { hashOf, makeToken, type Token } from "./Token.ts"

/** The part of a store that credentials need. */
export type CredentialsStore = Pick<
  StoreDriver,
  "putCredential" | "credentials" | "deleteCredentials" | "now"
>

/** What one kind is called, in messages and by the command line. */
const wordOf: Readonly<Record<CredentialKind, "token" | "key">> = { worker: "token", api: "key" }

/** What every new one has. */
export interface CredentialOptions {
  /** For people, 1 to 128 characters; no other one of its kind has it. */
  readonly name: string
  /** How long it is good for, at least a second; without it: until it is revoked. */
  readonly expires?: TimeSpan
}

/** What is known of a new one. */
export interface MadeCredential extends Token {
  readonly name: string
  readonly createdAt: number
  /** `null`: never. */
  readonly expiresAt: number | null
}

/** A name that may be given, and a span as milliseconds; throws `InvalidInput`. */
export const checkedCredential = (
  options: CredentialOptions,
): { readonly name: string; readonly expires: number | null } => ({
  name: Result.getOrThrow(parseName("name", options.name)),
  expires:
    options.expires === undefined ? null : Result.getOrThrow(parseSpan("expires", options.expires, 1000)),
})

/** Makes one. Throws `InvalidInput`, and then nothing is stored. */
export const makeCredential = async (
  store: CredentialsStore,
  kind: CredentialKind,
  options: CredentialOptions,
  scope: object,
): Promise<MadeCredential> => {
  const { name, expires } = checkedCredential(options)
  const made = makeToken()
  const hash = hashOf(made.secret)
  const expiresAt = expires === null ? null : (await store.now()) + expires
  await store.putCredential({ id: made.id, kind, name, hash, scope: JSON.stringify(scope), expiresAt })
  // Looked for, whatever the store said: it may have tried again after an answer that was lost, and found this very row.
  const row = (await store.credentials()).find((each) => each.hash === hash)
  // Its id is new, so it is the name.
  if (row === undefined)
    throw new InvalidInput({
      field: "name",
      reason: `there is a ${wordOf[kind]} named "${name}" already`,
      next: `Choose another name, or revoke that one first: uhrwerk ${wordOf[kind]} revoke ${name}`,
    })
  return { ...made, name, createdAt: row.createdAt, expiresAt }
}

/**
 * The id of the row that says that there was an API key once, so that the door stays shut when the last one is revoked.
 * It has no secret: the hash in it is of random bytes that nobody kept.
 */
const doorId = "door"

/** Shuts the door of the API, for good. Before the first key is made: a crash in between must not leave it open. */
export const shutDoor = async (store: CredentialsStore): Promise<void> => {
  const { secret } = makeToken()
  const row = { id: doorId, kind: "api", name: "(keys are asked for)", hash: hashOf(secret) } as const
  await store.putCredential({ ...row, scope: "{}", expiresAt: 0 })
}

/** The rows of a kind, in the order in which they were made. */
export const credentialsOf = async (
  store: Pick<CredentialsStore, "credentials">,
  kind: CredentialKind,
): Promise<ReadonlyArray<CredentialRow>> =>
  (await store.credentials())
    .filter((row) => row.kind === kind && row.id !== doorId)
    .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))

/** Revokes the one with this id or name; `left`: how many others there are. Throws `NotFound`. */
export const revokeCredential = async (
  store: CredentialsStore,
  kind: CredentialKind,
  idOrName: string,
): Promise<{ readonly id: string; readonly name: string; readonly left: number }> => {
  const rows = await credentialsOf(store, kind)
  const found = rows.find(({ id }) => id === idOrName) ?? rows.find(({ name }) => name === idOrName)
  const word = wordOf[kind]
  if (found === undefined)
    throw new NotFound({
      id: idOrName,
      field: word,
      reason: `there is no ${word} "${idOrName}" in this store`,
      next: `List what there is: uhrwerk ${word} list`,
    })
  await store.deleteCredentials([found.id])
  return { id: found.id, name: found.name, left: rows.length - 1 }
}

/** Whether it is over at this instant. */
export const isExpired = (expiresAt: number | null, now: number): boolean =>
  expiresAt !== null && expiresAt <= now

/** Whether it serves; `broken`: what the store says it allows cannot be read, so it allows nothing. */
export type CredentialState = "valid" | "expired" | "broken"

/** How one stands; `scope` is `undefined` where it cannot be read. */
export const stateOf = (scope: unknown, expiresAt: number | null, now: number): CredentialState =>
  scope === undefined ? "broken" : isExpired(expiresAt, now) ? "expired" : "valid"
