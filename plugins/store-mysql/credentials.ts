// Credentials in MySQL.
import {
  checkBatch,
  checkCredential,
  type CredentialRow,
  credentialsMax,
  decodeCredential,
  type PutCredential,
  tooManyCredentials,
} from "uhrwerk/sql"
import type { Connection } from "./Connection.ts"
import { type Given, nowOf } from "./Statement.ts"

/** The part of a store that keeps credentials; `now` answers `null` for the server's clock. */
export const makeCredentials = (connection: Connection, now: () => Given) => ({
  putCredential: async (credential: PutCredential): Promise<"created" | "exists"> => {
    checkCredential(credential)
    const { id, kind, name, hash, scope, expiresAt } = credential
    return connection.transaction(async (queryable) => {
      // One at a time, so that two together neither take one name nor exceed what there may be; no server of both kinds
      // can lock a table within a transaction.
      await queryable.read("select id from chains where id = 0 for update")
      const there = await queryable.read(
        "select id from credentials where id = ? union all select id from credentials where kind = ? and name = ?",
        [id, kind, name],
      )
      if (there.length > 0) return "exists"
      const [row] = await queryable.read("select count(*) as count from credentials")
      if (Number(row?.["count"]) >= credentialsMax) throw tooManyCredentials()
      const createdAt = await nowOf(queryable, now())
      await queryable.change(
        "insert into credentials (id, kind, name, hash, scope, expires_at, created_at) values (?, ?, ?, ?, ?, ?, ?)",
        [id, kind, name, hash, scope, expiresAt, createdAt],
      )
      return "created"
    })
  },
  credentials: async (): Promise<ReadonlyArray<CredentialRow>> =>
    (await connection.read("select * from credentials order by id")).map(decodeCredential),
  deleteCredentials: async (ids: ReadonlyArray<string>): Promise<number> => {
    checkBatch("ids", ids)
    if (ids.length === 0) return 0
    return (await connection.change("delete from credentials where id in (?)", [ids])).count
  },
})
