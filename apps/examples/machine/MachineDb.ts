// The example's own database, `machine.db`: samples of this machine, and a summary of every 15 seconds. Opened for
// each run and closed after it, so that nothing is left open when the engine stops.
import { DatabaseSync } from "node:sqlite"
import { outputFile } from "../files.ts"

/** How this machine does; sizes in bytes. */
export interface Sample {
  /** Epoch milliseconds. */
  readonly at: number
  /** The load average of one minute; always 0 on Windows. */
  readonly load: number
  readonly memoryUsed: number
  readonly memoryTotal: number
  readonly diskUsed: number
  readonly diskTotal: number
}

/** Older samples are removed. */
export const samplesMax = 10_000

const tables = `
  create table if not exists samples (
    id integer primary key,
    run_id text not null unique,
    at integer not null,
    load real not null,
    memory_used integer not null,
    memory_total integer not null,
    disk_used integer not null,
    disk_total integer not null
  ) strict;
  create index if not exists samples_at on samples (at);
  create table if not exists summaries (
    at integer primary key,
    samples integer not null,
    load_average real not null,
    load_max real not null,
    memory_average integer not null,
    memory_max integer not null
  ) strict;
`

/** Opens the database, made when it is missing, for as long as `body` runs. */
export const withMachineDb = async <Value>(body: (db: DatabaseSync) => Value): Promise<Value> => {
  const db = new DatabaseSync(await outputFile("machine.db"), { timeout: 2000 })
  try {
    db.exec(tables)
    return body(db)
  } finally {
    db.close()
  }
}
