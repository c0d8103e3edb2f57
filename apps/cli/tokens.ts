// `uhrwerk token create | list | revoke`: what workers prove by that they may connect. The secret goes to stdout, once,
// and nowhere else; servers on the store hear of a change within two seconds.
import {
  createToken,
  listTokens,
  revokeToken,
  type TokenOptions,
  type TokenView,
} from "../server/Credentials.ts"
import { UsageError } from "./errors.ts"
import { dateOf, fromNow, plain, printRows } from "./format.ts"
import { type Command, none, only, storeCommand } from "./open.ts"
import type { TimeSpan } from "../../core/domain/TimeSpan.ts"

/** The commands by their words. */
export const tokenCommands: Readonly<Record<string, Command>> = {
  "token create": storeCommand(
    "token create --name NAME [--queue QUEUE]... [--expires 90d]",
    "make a token for workers; it is printed once",
    async (store, args, flags) => {
      none(args)
      if (flags.name === undefined)
        throw new UsageError("A token needs --name NAME, so that people know whose it is")
      const options: TokenOptions = {
        name: flags.name,
        ...(flags.queue === undefined ? {} : { queues: flags.queue }),
        ...(flags.expires === undefined ? {} : { expires: flags.expires as TimeSpan }),
      }
      const { token, view } = await createToken(store, options)
      console.error(
        `Token ${plain(view.name)} (${view.id}) for ${queuesOf(view)}, ${
          view.expiresAt === null ? "until it is revoked" : `until ${dateOf(view.expiresAt)}`
        }. Keep it now, it cannot be shown again:`,
      )
      console.log(token)
    },
  ),
  "token list": storeCommand(
    "token list",
    "tokens of workers, without their secrets",
    async (store, args, flags) => {
      none(args)
      const now = await store.now()
      printRows(flags, await listTokens(store), {
        id: (row: TokenView) => row.id,
        name: (row: TokenView) => row.name,
        state: (row: TokenView) => row.state,
        queues: queuesOf,
        created: (row: TokenView) => dateOf(row.createdAt),
        expires: (row: TokenView) => (row.expiresAt === null ? "never" : fromNow(row.expiresAt, now)),
      })
    },
  ),
  "token revoke": storeCommand(
    "token revoke NAME|ID",
    "end a token: its workers are cut off within five seconds",
    async (store, args) => {
      const { id, name, left } = await revokeToken(store, only(args, "token's name or id"))
      console.log(`Token ${plain(name)} (${id}) is revoked; its workers are cut off within five seconds.`)
      if (left === 0)
        console.error(
          "No token is left. Servers that run now go on asking for one; a server that starts on this machine takes workers without.",
        )
    },
  ),
}

const queuesOf = ({ queues }: TokenView): string =>
  queues === null ? "all queues" : queues.map((queue) => plain(queue)).join(", ") || "none"
