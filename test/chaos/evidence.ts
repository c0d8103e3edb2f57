// What an execution left behind, to be judged offline: the client's ledger, the handlers' effect log and the
// store, each written by another party.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { sqliteDriver } from "../../adapters/store-sql/sqlite.ts"
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import type { Attempt, Run } from "../../core/domain/Run.ts"
import type { Occurrence, ScheduleRow } from "../../core/domain/Schedule.ts"
import type { RunCount } from "../../core/ports/StoreDriver.ts"

/** What the handler of a run does: succeed, take its time, fail at first, always, or for good. */
export type Mode = "ok" | "slow" | "flaky" | "broken" | "refused"

/** The client's ledger: `send` is written before the sending, `ack` after it was acknowledged. */
export type LedgerLine =
  | { readonly kind: "send"; readonly id: string; readonly mode: Mode; readonly dueAt: number | null }
  | { readonly kind: "ack"; readonly id: string }

/** The handlers' log. The order of lines is the order of events. */
export type EffectLine =
  | {
      readonly kind: "start"
      readonly id: string
      readonly attempt: number
      readonly token: number
      readonly dueAt: number
      readonly at: number
    }
  | {
      readonly kind: "end"
      readonly id: string
      readonly token: number
      readonly ok: boolean
      readonly at: number
    }

/** Everything. */
export interface Evidence {
  readonly ledger: ReadonlyArray<LedgerLine>
  readonly effects: ReadonlyArray<EffectLine>
  readonly runs: ReadonlyArray<Run>
  /** Of all runs, oldest first within a run. */
  readonly attempts: ReadonlyArray<Attempt>
  readonly letters: ReadonlyArray<DeadLetter>
  readonly occurrences: ReadonlyArray<Occurrence>
  readonly schedules: ReadonlyArray<ScheduleRow>
  readonly counts: ReadonlyArray<RunCount>
}

/** Where a child keeps its files. */
export const filesOf = (folder: string) => ({
  db: join(folder, "engine.db"),
  ledger: join(folder, "ledger.ndjson"),
  effects: join(folder, "effects.ndjson"),
})

/** The lines of a log that is only appended to. */
export const readLines = <Line>(file: string): Array<Line> =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Line)
    : []

/** Reads all of it, after the engine has ended. */
export const readEvidence = async (folder: string): Promise<Evidence> => {
  const files = filesOf(folder)
  const store = sqliteDriver({ file: files.db, role: "tool", create: false, now: () => Date.now() })
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
    const attempts: Array<Attempt> = []
    for (const { id } of runs) attempts.push(...(await store.attempts(id)))
    return {
      ledger: readLines(files.ledger),
      effects: readLines(files.effects),
      runs,
      attempts,
      letters,
      occurrences,
      schedules,
      counts: await store.counts(),
    }
  } finally {
    await store.close()
  }
}

/** All rows that pages of them, newest first, lead through. */
export const pages =
  <Row, Key>(page: (before: Key | undefined) => ReadonlyArray<Row> | Promise<ReadonlyArray<Row>>) =>
  async (keyOf: (row: Row) => Key): Promise<Array<Row>> => {
    const all: Array<Row> = []
    let rows: ReadonlyArray<Row>
    do {
      const last = all[all.length - 1]
      rows = await page(last === undefined ? undefined : keyOf(last))
      all.push(...rows)
    } while (rows.length > 0)
    return all
  }
