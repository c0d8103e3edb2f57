// The cron dialects that come with the package, loaded when a schedule names one: who names none pays for none.
import type { CronDialect, CronDialects } from "../../core/ports/CronDialect.ts"

const loaders: ReadonlyMap<string, () => Promise<CronDialect>> = new Map([
  ["croner", async () => (await import("../../adapters/dialect-croner/mod.ts")).cronerDialect],
])

/** A dialect that comes with the package. */
export type DialectName = "croner"

/** Loads those that are named; a name that is not there is left to whoever reads the schedule, and can say where it stands. */
export const loadDialects = async (names: Iterable<string | undefined>): Promise<CronDialects> => {
  const loaded = new Map<string, CronDialect>()
  for (const name of new Set(names)) {
    const load = name === undefined ? undefined : loaders.get(name)
    if (name !== undefined && load !== undefined) loaded.set(name, await load())
  }
  return loaded
}
