// Credentials in PostgreSQL.
import type { CredentialRow, PutCredential } from "../../../core/ports/StoreDriver.ts"
import {
  checkBatch,
  checkCredential,
  credentialsMax,
  tooManyCredentials,
} from "../../../core/ports/StoreLimits.ts"
import { decodeCredential } from "../rows.ts"
import type { Connection } from "./Connection.ts"
import type { Tables } from "./schema.ts"
import { at, clock, literal, prepare, sql } from "./Statement.ts"

/** The part of a store that keeps credentials; `now` answers `null` for the server's clock. */
export const makeCredentials = (
  connection: Connection,
  { credentials }: Tables,
  now: () => number | null,
) => {
  // One at a time, so that two together do not exceed what there may be.
  const lock = prepare(sql`lock table ${credentials} in share row exclusive mode`)
  const insert = prepare(sql`insert into ${credentials} (id, kind, name, hash, scope, expires_at, created_at)
    values (${at("id", "text")}, ${at("kind", "text")}, ${at("name", "text")}, ${at("hash", "text")},
      ${at("scope", "text")}, ${at("expiresAt", "bigint")}, ${clock})
    on conflict do nothing returning id`)
  const count = prepare(sql`select count(*)::int as count from ${credentials}`)
  const all = prepare(sql`select * from ${credentials} order by id`)
  const remove = prepare(sql`delete from ${credentials} where id = any(${at("ids", "text[]")}) returning id`)
  return {
    putCredential: async (credential: PutCredential): Promise<"created" | "exists"> => {
      checkCredential(credential)
      const { id, kind, name, hash, scope, expiresAt } = credential
      return connection.transaction(async (queryable) => {
        await lock(queryable)
        const values = { id, kind, name, hash, scope, expiresAt, now: now() }
        if ((await insert(queryable, values)).length === 0) return "exists"
        if (Number((await count(queryable))[0]?.["count"]) > credentialsMax) throw tooManyCredentials()
        return "created"
      })
    },
    credentials: async (): Promise<ReadonlyArray<CredentialRow>> =>
      (await all(connection)).map(decodeCredential),
    deleteCredentials: async (ids: ReadonlyArray<string>): Promise<number> => {
      checkBatch("ids", ids)
      return (await remove(connection, { ids: literal(ids) })).length
    },
  }
}
