// `uhrwerk migrate`: brings a PostgreSQL schema up to date before any node is started, or prints the SQL for whoever runs it
// by hand. A node does the same when it starts; this is for users who may not make tables.
import { UsageError } from "./errors.ts"
import { type Command, none, storageOf } from "./open.ts"

/** The command. */
export const migrate: Command = {
  usage: "migrate [--plan]",
  about: "bring a PostgreSQL schema up to date; --plan: print the SQL instead",
  run: async (args, flags) => {
    none(args)
    const { name, plan, open } = await storageOf(flags)
    if (plan === null || open === null)
      throw new UsageError(
        `Storage "${name}" has no schema to migrate: it is brought up to date when it is opened`,
      )
    const text = await plan()
    if (flags.plan === true) console.log(text === "" ? "-- Up to date: there is nothing to do." : text)
    else {
      await (await open()).close()
      console.error(text === "" ? "Up to date: there was nothing to do." : "The schema is up to date now.")
    }
    return 0
  },
}
