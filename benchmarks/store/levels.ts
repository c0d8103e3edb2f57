// The levels of history, each in a schema of its own that is filled before anything is measured, so that the rounds of
// all levels and of the floor take turns.
import postgres from "postgres"
import { type Bloat, bloatOf, fillHistory } from "./history.ts"
import { measureRound, type Round, type Sizes } from "./operations.ts"
import { openFloor } from "./floor.ts"
import type { Side } from "./Side.ts"
import { openStore } from "./subject.ts"

/** What a side took, round by round, and what its tables were like afterwards. */
export interface Measured {
  readonly name: string
  /** Finished runs that were there before; `null`: the floor. */
  readonly history: number | null
  readonly rounds: ReadonlyArray<Round>
  readonly bloat: Bloat
}

/** The schemas of this process; their names begin alike. */
export const schemaPrefix = `uhrwerk_bench_store_${process.pid}`

/** Makes and fills a store of each size of history; answers the names of the schemas. */
export const fillLevels = async (
  address: string,
  histories: ReadonlyArray<number>,
  progress: (text: string) => void,
): Promise<ReadonlyMap<number, { readonly schema: string; readonly filledMillis: number }>> => {
  const sql = postgres(address, { max: 2, onnotice: () => {} })
  const levels = new Map<number, { readonly schema: string; readonly filledMillis: number }>()
  try {
    for (const history of histories) {
      progress(`history of ${history} runs`)
      const schema = `${schemaPrefix}_h${history}`
      const side = await openStore(address, schema, "store")
      await side.close()
      const from = performance.now()
      await fillHistory(sql, schema, history)
      levels.set(history, { schema, filledMillis: Math.round(performance.now() - from) })
    }
    // What filling left to be written would be written while others are measured; only some users may ask for it.
    await sql`checkpoint`.catch(() => {})
    return levels
  } finally {
    await sql.end()
  }
}

/** Measures the floor and the levels in turn, the order reversed each round; one more round of all warms up. */
export const measureLevels = async (
  address: string,
  levels: ReadonlyMap<number, { readonly schema: string }>,
  floorSchema: string,
  sizes: Sizes & { readonly rounds: number },
  progress: (text: string) => void,
): Promise<ReadonlyArray<Measured>> => {
  const sides: Array<{
    readonly side: Side
    readonly history: number | null
    readonly rounds: Array<Round>
  }> = []
  const sql = postgres(address, { max: 1, onnotice: () => {} })
  try {
    sides.push({ side: await openFloor(address, floorSchema), history: null, rounds: [] })
    for (const [history, { schema }] of levels) {
      const name = `history ${history}`
      sides.push({ side: await openStore(address, schema, name), history, rounds: [] })
    }
    const warmUp = { ...sizes, runs: Math.min(sizes.runs, 2000) }
    for (const { side } of sides) await measureRound(side, warmUp)
    for (let round = 0; round < sizes.rounds; round++) {
      for (const { side, rounds } of round % 2 === 0 ? sides : sides.toReversed()) {
        progress(`round ${round + 1} of ${sizes.rounds}: ${side.name}`)
        rounds.push(await measureRound(side, sizes))
      }
    }
    const measured: Array<Measured> = []
    for (const { side, history, rounds } of sides) {
      const table = history === null ? "hot" : "live"
      measured.push({ name: side.name, history, rounds, bloat: await bloatOf(sql, side.schema, table) })
    }
    return measured
  } finally {
    for (const { side } of sides) await side.close()
    await sql.end()
  }
}

/** Runs `body` while another connection holds a transaction open that has taken its snapshot. */
export const whileHeld = async <A>(address: string, body: () => Promise<A>): Promise<A> => {
  const sql = postgres(address, { max: 1, onnotice: () => {} })
  const holder = await sql.reserve()
  try {
    await holder`begin isolation level repeatable read`
    await holder`select count(*) from pg_class`
    return await body()
  } finally {
    await holder`rollback`
    holder.release()
    await sql.end()
  }
}

/** Drops all schemas of this process. */
export const dropLevels = async (address: string): Promise<void> => {
  const sql = postgres(address, { max: 1, onnotice: () => {} })
  try {
    const rows = await sql`select nspname as name from pg_namespace where nspname like ${`${schemaPrefix}_%`}`
    for (const { name } of rows) await sql`drop schema if exists ${sql(String(name))} cascade`
  } finally {
    await sql.end()
  }
}
