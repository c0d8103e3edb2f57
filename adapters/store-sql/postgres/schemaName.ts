// The name of the schema that all tables are in. It stands in every statement, so it is checked once, here.
import { StoreUnusable } from "../../../core/domain/Errors.ts"

/** Answers the name if it can be that of our schema; throws `StoreUnusable` otherwise. */
export const checkSchema = (name: string): string => {
  const refuse = (reason: string): StoreUnusable =>
    new StoreUnusable({
      kind: "notADatabase",
      field: `schema "${name}"`,
      reason,
      next: 'Name one of at most 40 lower-case letters, digits and "_", for example "uhrwerk".',
    })
  // Room for what is put behind it: channels of NOTIFY are names too, of at most 63 bytes.
  if (!/^[a-z_][a-z0-9_]{0,39}$/.test(name)) throw refuse("the name is not a plain name")
  if (/^(pg_|information_schema$|public$)/.test(name)) throw refuse("the store wants a schema of its own")
  return name
}
