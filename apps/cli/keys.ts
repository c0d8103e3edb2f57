// `uhrwerk key create | list | revoke` and `audit list`: who may use the HTTP API of the servers on a store, and what was
// done with it. The text of a key goes to stdout, once, and nowhere else; servers hear of a change within two seconds.
import * as Result from "effect/Result"
import { parseInstant, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import { keyRoles } from "../api/access.ts"
import { type AuditView, readAudit } from "../server/access/Audit.ts"
import { createKey, type KeyOptions, type KeyView, listKeys, revokeKey } from "../server/Keys.ts"
import { UsageError } from "./errors.ts"
import { dateOf, fromNow, plain, printRows } from "./format.ts"
import { type Command, type Flags, limitOf, none, once, only, storeCommand } from "./open.ts"

/** The commands by their words. */
export const keyCommands: Readonly<Record<string, Command>> = {
  "key create": storeCommand(
    "key create --name NAME [--role viewer|operator|admin] [--namespace NAME] [--expires 90d]",
    "make a key for the HTTP API, a viewer's without --role; it is printed once",
    async (store, args, flags) => {
      none(args)
      if (flags.name === undefined)
        throw new UsageError("A key needs --name NAME, so that people know whose it is")
      const { key, view } = await createKey(store, {
        name: flags.name,
        role: roleOf(flags.role),
        ...(flags.namespace === undefined ? {} : { namespace: flags.namespace }),
        ...(flags.expires === undefined ? {} : { expires: flags.expires as TimeSpan }),
      })
      console.error(
        `Key ${plain(view.name)} (${view.id}) of ${aRole[view.role ?? "viewer"]} for ${seen(view)}, ${
          view.expiresAt === null ? "until it is revoked" : `until ${dateOf(view.expiresAt)}`
        }. Keep it now, it cannot be shown again:`,
      )
      console.log(key)
    },
  ),
  "key list": storeCommand(
    "key list",
    "keys for the HTTP API, without their secrets",
    async (store, args, flags) => {
      none(args)
      const now = await store.now()
      printRows(flags, await listKeys(store), {
        id: (row: KeyView) => row.id,
        name: (row: KeyView) => row.name,
        state: (row: KeyView) => row.state,
        role: (row: KeyView) => row.role ?? "none",
        sees: seen,
        created: (row: KeyView) => dateOf(row.createdAt),
        expires: (row: KeyView) => (row.expiresAt === null ? "never" : fromNow(row.expiresAt, now)),
        used: (row: KeyView) => (row.lastUsedAt === null ? "-" : fromNow(row.lastUsedAt, now)),
      })
    },
  ),
  "key revoke": storeCommand(
    "key revoke NAME|ID",
    "end a key: servers refuse it within five seconds",
    async (store, args) => {
      const { id, name, left } = await revokeKey(store, only(args, "key's name or id"))
      console.log(`Key ${plain(name)} (${id}) is revoked; servers refuse it within five seconds.`)
      if (left === 0) console.error("No key is left. The API goes on asking for one: make another.")
    },
  ),
  "audit list": storeCommand(
    "audit list [--actor KEY] [--route NAME] [--from TIME] [--to TIME] [--limit N] [--before ID]",
    "what was done over the HTTP API, the latest first",
    async (store, args, flags) => {
      none(args)
      const limit = limitOf(flags)
      const { rows, next } = await readAudit(store, {
        limit,
        ...(flags.actor === undefined ? {} : { actor: flags.actor }),
        ...(flags.route === undefined ? {} : { route: flags.route }),
        ...(flags.before === undefined ? {} : { before: flags.before }),
        ...instantOf("from", once("--from", flags.from)),
        ...instantOf("to", flags.to),
      })
      printRows(flags, rows, {
        at: (row: AuditView) => dateOf(row.at),
        actor: (row: AuditView) => row.actor.name,
        address: (row: AuditView) => row.address,
        route: (row: AuditView) => row.route,
        status: (row: AuditView) => `${row.status}${row.code === null ? "" : ` ${row.code}`}`,
        what: (row: AuditView) => JSON.stringify({ ...row.params, ...row.detail }),
      })
      if (next !== null) console.error(`More may be there: --before ${plain(next)}`)
    },
  ),
}

const aRole = { viewer: "a viewer", operator: "an operator", admin: "an admin" } as const

const roleOf = (text: string | undefined): NonNullable<KeyOptions["role"]> => {
  const role = text === undefined ? "viewer" : keyRoles.find((each) => each === text)
  if (role === undefined) throw new UsageError(`--role ${text} is none of ${keyRoles.join(", ")}`)
  return role
}

const seen = ({ namespace }: KeyView): string => (namespace === null ? "all jobs" : `${plain(namespace)}.*`)

const instantOf = (
  field: "from" | "to",
  text: Flags["to"],
): { readonly from?: number; readonly to?: number } =>
  text === undefined ? {} : { [field]: Result.getOrThrow(parseInstant(`--${field}`, text)) }
