// What the migrations make is what the schema file says, column by column.
import { PGlite } from "@electric-sql/pglite"
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core"
import { afterAll, beforeAll, expect, test } from "vitest"
import { migrate } from "../../../../adapters/store-sql/postgres/migrate.ts"
import { runColumns, runRows } from "../../../../adapters/store-sql/postgres/runRows.ts"
import { tablesOf } from "../../../../adapters/store-sql/postgres/schema.ts"
import { prepare, sql } from "../../../../adapters/store-sql/postgres/Statement.ts"
import { pgliteConnection } from "./pglite.ts"

let database: PGlite
beforeAll(async () => {
  database = await PGlite.create()
  await migrate(pgliteConnection(database), "here", "uhrwerk")
})
afterAll(() => database.close())

const tables = tablesOf("uhrwerk")

test("schema > the tables and columns of the migrations are those of the schema file", async () => {
  const said = Object.values(tables).flatMap((table: PgTable) => {
    const { name, columns } = getTableConfig(table)
    return columns.map(
      (column) => `${name}.${column.name} ${column.getSQLType()} ${column.notNull ? "not null" : ""}`,
    )
  })
  const made = await database.query<{ text: string }>(
    `select table_name || '.' || column_name || ' ' || data_type || ' ' ||
        case is_nullable when 'NO' then 'not null' else '' end as text
      from information_schema.columns where table_schema = 'uhrwerk' and table_name not in ('migrations', 'run_rows')`,
  )
  expect(made.rows.map(({ text }) => text).toSorted()).toEqual(said.toSorted())
})

test("schema > a run that is read to be changed has the same columns as the view", async () => {
  const { runs, live, ended } = tables
  const columnsOf = async (query: Parameters<typeof prepare>[0]): Promise<ReadonlyArray<string>> => {
    let text = ""
    await prepare(query)({ query: async (given) => ((text = given), []), script: async () => {} })
    return (await database.query(text)).fields.map(({ name }) => name)
  }
  const joined = sql`${runs} as r join ${live} as l on l.id = r.id join ${ended} as e on e.id = r.id`
  expect(await columnsOf(sql`select ${runColumns} from ${joined}`)).toEqual(
    await columnsOf(sql`select * from ${runRows(tables)}`),
  )
})
