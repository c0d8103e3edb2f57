// The credentials of the memory store.
import type { CredentialRow, PutCredential } from "../../core/ports/StoreDriver.ts"
import {
  checkBatch,
  checkCredential,
  credentialsMax,
  tooManyCredentials,
} from "../../core/ports/StoreLimits.ts"

/** The operations that keep credentials. */
export const makeCredentials = (clock: () => number) => {
  const rows = new Map<string, CredentialRow>()
  return {
    putCredential: (credential: PutCredential): "created" | "exists" => {
      checkCredential(credential)
      const { id, kind, name, hash, scope, expiresAt } = credential
      if (rows.has(id)) return "exists"
      for (const row of rows.values()) if (row.kind === kind && row.name === name) return "exists"
      if (rows.size >= credentialsMax) throw tooManyCredentials()
      rows.set(id, { id, kind, name, hash, scope, expiresAt, createdAt: clock() })
      return "created"
    },
    credentials: (): ReadonlyArray<CredentialRow> =>
      [...rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    deleteCredentials: (ids: ReadonlyArray<string>): number => {
      checkBatch("ids", ids)
      return ids.filter((id) => rows.delete(id)).length
    },
  }
}
