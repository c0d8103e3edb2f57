// A run as it stands, of its three tables: every read of whole rows goes by the view `run_rows`, which has the columns that
// `rows.ts` decodes.
import { getTableConfig } from "drizzle-orm/pg-core"
import type { Tables } from "./schema.ts"
import { type SQL, sql } from "./Statement.ts"

/** The view, by its quoted name. */
export const runRows = ({ runs }: Tables): SQL => {
  const { schema = "" } = getTableConfig(runs)
  return sql`${sql.identifier(schema)}.run_rows`
}
