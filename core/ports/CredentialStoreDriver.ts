// The part of the storage port that is about credentials: who may connect as a worker or call the API, and what each may
// do. The secret itself is never stored, only its hash; and no error names even that.
import type { Awaitable } from "./StoreDriver.ts"

/** What a credential is for. */
export type CredentialKind = "worker" | "api"

/** A credential to store. */
export interface PutCredential {
  /** 1 to 64 characters. */
  readonly id: string
  readonly kind: CredentialKind
  /** For people: 1 to 255 characters, one of its kind. */
  readonly name: string
  /** SHA-256 of the secret: 64 hexadecimal digits, in lower case. */
  readonly hash: string
  /** JSON text of what it allows, as the server reads it: at most 64 KiB in UTF-8. */
  readonly scope: string
  /** Epoch milliseconds from which on it does not serve any more; `null`: it always does. */
  readonly expiresAt: number | null
}

/** A stored credential. */
export interface CredentialRow extends PutCredential {
  /** By the store's clock. */
  readonly createdAt: number
}

/** Credentials of workers and of clients of the API; at most 10,000. */
export interface CredentialStoreDriver {
  /**
   * Stores a credential; `exists`, and nothing changes, when its id is taken, or its name among those of its kind. So
   * whoever repeats it after an unknown outcome looks whose hash is there. Refused: one that is not as `PutCredential`
   * says, and one more than 10,000.
   */
  putCredential(credential: PutCredential): Awaitable<"created" | "exists">
  /** All of them, by id; those that have expired as well, until they are deleted. */
  credentials(): Awaitable<ReadonlyArray<CredentialRow>>
  /** Removes credentials, at most 1,000; answers how many there were. */
  deleteCredentials(ids: ReadonlyArray<string>): Awaitable<number>
}
