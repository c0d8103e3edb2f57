// Credentials in the file.
import { asc, eq, sql } from "drizzle-orm"
import type { CredentialRow, PutCredential } from "../../../core/ports/StoreDriver.ts"
import {
  checkBatch,
  checkCredential,
  credentialsMax,
  tooManyCredentials,
} from "../../../core/ports/StoreLimits.ts"
import { decodeCredential } from "../rows.ts"
import { credentials } from "./schema.ts"
import type { Session } from "./Session.ts"
import { at, build, prepare } from "./Statement.ts"

/** The part of a store that keeps credentials. */
export const makeCredentials = ({ database, now, transaction }: Session) => {
  const insert = prepare(
    database,
    build
      .insert(credentials)
      .values({
        id: at("id"),
        kind: at("kind"),
        name: at("name"),
        hash: at("hash"),
        scope: at("scope"),
        expiresAt: at("expiresAt"),
        createdAt: at("createdAt"),
      } as unknown as typeof credentials.$inferInsert)
      .onConflictDoNothing(),
  )
  const count = prepare(database, sql`select count(*) as count from credentials`)
  const all = prepare(database, build.select().from(credentials).orderBy(asc(credentials.id)))
  const remove = prepare(database, build.delete(credentials).where(eq(credentials.id, at("id"))))

  return {
    putCredential: (credential: PutCredential): "created" | "exists" => {
      checkCredential(credential)
      return transaction(() => {
        if (insert.run({ ...credential, createdAt: now() }) === 0) return "exists"
        if ((count.get()?.["count"] as number) > credentialsMax) throw tooManyCredentials()
        return "created"
      })
    },
    credentials: (): ReadonlyArray<CredentialRow> => all.all().map(decodeCredential),
    deleteCredentials: (ids: ReadonlyArray<string>): number => {
      checkBatch("ids", ids)
      return transaction(() => ids.reduce((count, id) => count + remove.run({ id }), 0))
    },
  }
}
