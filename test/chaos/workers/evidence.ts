// What a chaos run with workers left behind: the client's ledger, what the handlers wrote, the store, what was done to
// whom, and what the server said of its workers when all was over. Each was written by another party.
import { postgresDriver } from "../../../adapters/store-sql/postgres.ts"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import type { Attempt } from "../../../core/domain/Run.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import type { WorkerView } from "../../../core/worker/WorkerView.ts"
import { type EffectLine, type Evidence, filesOf, pages, readLines } from "../evidence.ts"
import type { FaultKind } from "./plan.ts"

/** Who wrote a line of the handlers' log: which worker, and which process of it. */
export interface Author {
  readonly worker: string
  readonly pid: number
}

/** A line of the handlers' log. `abort`: the handler's signal fired; it obeys. */
export type WorkerLine =
  | (EffectLine & Author)
  | ({ readonly kind: "abort"; readonly id: string; readonly token: number; readonly at: number } & Author)

/** What a handler returns: who it was, and under which token. */
export interface Output {
  readonly pid: number
  readonly token: number
}

/** One fault as it happened; times in epoch milliseconds. */
export interface Incident {
  readonly kind: FaultKind
  /** The worker that it met; `null`: the server. */
  readonly worker: string | null
  /** The process that it met. */
  readonly pid: number | null
  readonly from: number
  readonly to: number
  /** What a one-way loss lost, and which side alone knew of a half-open connection's end. */
  readonly way?: "toServer" | "toNode"
  readonly side?: "node" | "server"
  /** How late each piece was on a slow way. */
  readonly delayMillis?: number
  /** For people. */
  readonly what: string
}

/** One process of a worker, from its start to its end. */
export interface Life extends Author {
  readonly runtime: string
  readonly from: number
  readonly to: number
}

/** Everything. */
export interface Story extends Evidence {
  readonly effects: ReadonlyArray<EffectLine & Author>
  readonly aborts: ReadonlyArray<Extract<WorkerLine, { kind: "abort" }>>
  readonly incidents: ReadonlyArray<Incident>
  readonly lives: ReadonlyArray<Life>
  /** Runs that hold every slot at once after the last fault, and how many slots there are. */
  readonly probe: { readonly ids: ReadonlyArray<string>; readonly slots: number }
  /** The workers as the server saw them when all had come to rest. */
  readonly workers: ReadonlyArray<WorkerView>
  /** Resident memory of each process of the server, in MiB: after its first seconds, at most, and at last. */
  readonly memory: ReadonlyArray<{ readonly first: number; readonly most: number; readonly last: number }>
  /** Processes that ended otherwise than they were asked to. */
  readonly badStops: ReadonlyArray<string>
  /** How long after a closed socket, and after the beginning of a silence, runs may take to be taken back. */
  readonly bars: {
    readonly closedMillis: number
    readonly silentMillis: number
    readonly slackMillis: number
  }
}

/** Reads the store and the files, when the server has ended. `url`: of PostgreSQL; without, the SQLite file of the folder. */
export const readTables = async (
  folder: string,
  url: string | null,
): Promise<Evidence & Pick<Story, "effects" | "aborts">> => {
  const files = filesOf(folder)
  const store: StoreDriver =
    url === null
      ? sqliteDriver({ file: files.db, role: "tool", create: false, now: () => Date.now() })
      : await postgresDriver({ url })
  try {
    const runs = await pages((before: string | undefined) =>
      store.list({ limit: 200, ...(before === undefined ? {} : { before }) }),
    )((run) => run.id)
    const letters = await pages((before: string | undefined) =>
      store.deadLetters({ limit: 200, ...(before === undefined ? {} : { before }) }),
    )((letter) => letter.runId)
    const attempts: Array<Attempt> = []
    for (const { id } of runs) attempts.push(...(await store.attempts(id)))
    const lines = readLines<WorkerLine>(files.effects)
    // Many processes write, each in its own order: what they saw is put in the order of time.
    const inTime = lines.toSorted((a, b) => a.at - b.at)
    return {
      ledger: readLines(files.ledger),
      effects: inTime.filter((line) => line.kind !== "abort"),
      aborts: inTime.filter((line) => line.kind === "abort"),
      runs,
      attempts,
      letters,
      occurrences: [],
      schedules: [],
      counts: await store.counts(),
    }
  } finally {
    await store.close()
  }
}
