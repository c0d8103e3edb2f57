// What a chaos run left behind, read when all has come to rest: the client's ledger, what the handlers wrote, the tables,
// and the log of what was done to whom. Each was written by another party.
import type { Attempt } from "../../../core/domain/Run.ts"
import type { Occurrence } from "../../../core/domain/Schedule.ts"
import { postgresDriver } from "../../../adapters/store-sql/postgres.ts"
import { connect } from "../../../adapters/store-sql/postgres/connect.ts"
import { type EffectLine, type Evidence, filesOf, pages, readLines } from "../evidence.ts"
import type { FaultKind } from "./plan.ts"

/** A line of the handlers' log, with the process that wrote it. */
export type NodeLine = EffectLine & { readonly pid: number }

/** What a handler returns: who it was, and under which token. */
export interface Output {
  readonly pid: number
  readonly token: number
}

/** One fault as it happened; times in epoch milliseconds. */
export interface Incident {
  readonly kind: FaultKind
  /** The process that it met; `null`: the database, or the client's way to it. */
  readonly pid: number | null
  readonly from: number
  readonly to: number
  /** For people. */
  readonly what: string
}

/** Everything. */
export interface Story extends Evidence {
  readonly effects: ReadonlyArray<NodeLine>
  readonly incidents: ReadonlyArray<Incident>
  /** The process of each node id that was ever seen. */
  readonly pidOf: ReadonlyMap<string, number>
  /** Runs whose outcome the store refused as too late, by what the nodes said of it, with the process that had sent it. */
  readonly refused: ReadonlyArray<{ readonly pid: number; readonly id: string }>
  /** Stops that were asked for and did not end with 0. */
  readonly badStops: ReadonlyArray<string>
  readonly pausedAt: number
  /** How long after a kill all that was lost with it must have started again. */
  readonly barMillis: number
}

/** Reads the tables and the files. */
export const readTables = async (folder: string, url: string): Promise<Evidence & Pick<Story, "effects">> => {
  const files = filesOf(folder)
  const store = await postgresDriver({ url })
  const connection = connect({ url, connectionsMax: 1 })
  try {
    const runs = await pages((before: string | undefined) =>
      store.list({ limit: 200, ...(before === undefined ? {} : { before }) }),
    )((run) => run.id)
    const letters = await pages((before: string | undefined) =>
      store.deadLetters({ limit: 200, ...(before === undefined ? {} : { before }) }),
    )((letter) => letter.runId)
    const schedules = await store.schedules()
    const occurrences: Array<Occurrence> = []
    for (const { id } of schedules) {
      const rows = await pages((before: number | undefined) =>
        store.occurrences({ scheduleId: id, limit: 200, ...(before === undefined ? {} : { before }) }),
      )((row) => row.at)
      occurrences.push(...rows)
    }
    // Past the store: it answers them run by run, and there are many.
    const attempts = await connection.query("select * from uhrwerk.attempts order by seq", [])
    return {
      ledger: readLines(files.ledger),
      effects: readLines(files.effects),
      runs,
      letters,
      schedules,
      occurrences,
      counts: await store.counts(),
      attempts: attempts.map((row): Attempt => ({
        runId: row["run_id"] as string,
        attempt: row["attempt"] as number,
        token: row["token"] as number,
        node: row["node"] as string | null,
        startedAt: row["started_at"] as number | null,
        endedAt: row["ended_at"] as number,
        error: JSON.parse(row["error"] as string) as Attempt["error"],
      })),
    }
  } finally {
    await connection.close()
    await store.close()
  }
}
