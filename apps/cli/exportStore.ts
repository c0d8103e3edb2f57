// What a store holds as lines of JSON, in an order in which another one can take them: what is needed comes first. The
// rows are the store's own, with their ids; payloads are the JSON texts that they are there.
import type { Run } from "../../core/domain/Run.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"

/** The version of the format; a reader refuses others. */
export const exportVersion = 1

/** One line. */
export type ExportLine =
  | {
      readonly type: "uhrwerk"
      readonly version: number
      /** The store's clock when it began. */
      readonly at: number
      readonly store: string
    }
  | {
      readonly type: "calendar" | "schedule" | "credential" | "occurrence" | "deadLetter"
      readonly row: object
    }
  | { readonly type: "run"; readonly row: Run; readonly attempts: ReadonlyArray<object> }
  /** The last line: whoever does not find it has not got all. */
  | { readonly type: "end"; readonly lines: number }

const page = 200

/** All lines. Rows that change meanwhile are as they were when their page was read. */
export async function* exportLines(store: StoreDriver): AsyncGenerator<ExportLine> {
  let lines = 0
  const line = (given: ExportLine): ExportLine => {
    lines++
    return given
  }
  yield line({
    type: "uhrwerk",
    version: exportVersion,
    at: await store.now(),
    store: store.capabilities.name,
  })
  for (const row of await store.calendars()) yield line({ type: "calendar", row })
  for (const row of await store.credentials()) yield line({ type: "credential", row })
  for (const row of await store.schedules()) yield line({ type: "schedule", row })
  // Oldest first, as a run comes after those that it needs; a bound keeps out what comes while this goes on.
  const ids: Array<string> = []
  for await (const run of newestFirst((before) => store.list({ limit: page, ...before }))) ids.push(run.id)
  for (let at = ids.length; at > 0; at -= page) {
    for (const row of await store.get(ids.slice(Math.max(0, at - page), at).reverse()))
      yield line({ type: "run", row, attempts: await store.attempts(row.id) })
  }
  for await (const row of newestFirst((before) => store.deadLetters({ limit: page, ...before }), "runId"))
    yield line({ type: "deadLetter", row })
  yield* occurrences(store, line)
  yield { type: "end", lines: lines + 1 }
}

async function* newestFirst<A extends object>(
  read: (before: { readonly before?: string }) => Promise<ReadonlyArray<A>> | ReadonlyArray<A>,
  key = "id",
): AsyncGenerator<A> {
  let before: string | undefined
  for (;;) {
    const rows = await read(before === undefined ? {} : { before })
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < page) return
    before = (last as Readonly<Record<string, string>>)[key]
  }
}

async function* occurrences(
  store: StoreDriver,
  line: (given: ExportLine) => ExportLine,
): AsyncGenerator<ExportLine> {
  for (const { id: scheduleId } of await store.schedules()) {
    let before: number | undefined
    for (;;) {
      const rows = await store.occurrences({
        scheduleId,
        limit: page,
        ...(before === undefined ? {} : { before }),
      })
      for (const row of rows) yield line({ type: "occurrence", row })
      const last = rows.at(-1)
      if (last === undefined || rows.length < page) break
      before = last.at
    }
  }
}
