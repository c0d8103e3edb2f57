// Where a project keeps its runs, as text or as a store of one's own.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { layerMemory } from "../../adapters/store-memory/mod.ts"
import type { OwnTransaction } from "../../adapters/store-sql/postgres.ts"
import type { OwnConnection } from "../../adapters/store-sql/sqlite.ts"
import { InvalidInput, type StoreInUse, type StoreUnusable } from "../../core/domain/Errors.ts"
import type { NewRun } from "../../core/domain/Run.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import { Notifier } from "../../core/ports/Notifier.ts"
import type { Examination } from "../../core/ports/Examination.ts"
import type { Store } from "../../core/ports/Store.ts"
import type { Enqueued, StoreDriver } from "../../core/ports/StoreDriver.ts"

/**
 * `"sqlite:FILE"`, `"postgres://USER:PASSWORD@HOST:PORT/DATABASE"`, `"memory:"`, or an object whose `layer` opens a store.
 * A PostgreSQL address may end in `?schema=NAME` (default `uhrwerk`), `&prepare=false`, for a transaction pooler, and
 * `&sslmode=` with `&sslrootcert=FILE`, as in libpq.
 */
export type Storage =
  | `sqlite:${string}`
  | `postgres://${string}`
  | `postgresql://${string}`
  | "memory:"
  | OwnStorage

/** A store that is none of the house's own, such as a plugin's. */
export interface OwnStorage {
  /** As people know it; never with a password. */
  readonly name: string
  readonly layer: StoreLayer
  /** Opens it for a command beside engines (`uhrwerk run list`); without it, it can only be looked at from its engines. */
  readonly open?: () => Promise<StoreDriver>
  /** The SQL that opening it would run to bring it up to date (`uhrwerk migrate --plan`). */
  readonly plan?: () => Promise<string>
}

/** A store's services as a layer. */
export type StoreLayer = Layer.Layer<Store, StoreUnusable | StoreInUse>

/** An opened choice. */
export interface ParsedStorage {
  /** As people know it; never with a password. */
  readonly name: string
  readonly layer: StoreLayer
  /** How its engines hear of each other. */
  readonly notifier: Layer.Layer<Notifier>
  /** Opens it for a tool beside engines; `null`: it lives in the engine's process. */
  readonly open: (() => Promise<StoreDriver>) | null
  /** Looks at it without changing anything; `null`: it lives in the engine's process. */
  readonly examine: (() => Promise<Examination>) | null
  /** The SQL that opening it would run to bring it up to date; `null`: there is none to look at. */
  readonly plan: (() => Promise<string>) | null
  /** Stores runs in a transaction of the application; `null`: there is none that could hold them. */
  readonly enqueueIn:
    | {
        readonly kind: "postgres"
        readonly store: (
          transaction: OwnTransaction,
          runs: ReadonlyArray<NewRun>,
        ) => Promise<ReadonlyArray<Enqueued>>
      }
    | {
        readonly kind: "sqlite"
        /** Once the storage was opened. */
        readonly store: (connection: OwnConnection, runs: ReadonlyArray<NewRun>) => ReadonlyArray<Enqueued>
      }
    | null
}

/** Checks the choice; nothing is opened yet. */
export const parseStorage = (
  storage: Storage = "sqlite:uhrwerk.db",
): Result.Result<ParsedStorage, InvalidInput> => {
  const own = { notifier: Notifier.layerLocal, open: null, examine: null, plan: null, enqueueIn: null }
  if (typeof storage === "object" && storage !== null && Layer.isLayer(storage.layer)) {
    const { name, layer, open = null, plan = null } = storage
    return Result.succeed({ ...own, name, layer, open, plan })
  }
  if (storage === "memory:") return Result.succeed({ name: "memory", layer: layerMemory, ...own })
  const text = typeof storage === "string" ? storage : ""
  if (text.startsWith("sqlite:") && text !== "sqlite:") return Result.succeed(sqlite(text.slice(7)))
  if (/^postgres(ql)?:\/\//.test(text)) return postgres(text)
  return Result.fail(
    new InvalidInput({
      field: "storage",
      reason: `${quote(typeof storage === "string" ? withoutSecrets(storage) : storage)} is not a storage`,
      next: 'Write "sqlite:FILE", such as "sqlite:uhrwerk.db", "postgres://HOST/DATABASE", or "memory:".',
    }),
  )
}

// Both are loaded when they are needed: Drizzle takes longer to load than all the rest.
const sqlite = (file: string): ParsedStorage => {
  let loaded: typeof import("../../adapters/store-sql/sqlite.ts") | undefined
  const load = async () => (loaded = await import("../../adapters/store-sql/sqlite.ts"))
  return {
    name: file,
    layer: Layer.unwrap(Effect.map(Effect.promise(load), ({ layerSqlite }) => layerSqlite({ file }))),
    notifier: Notifier.layerLocal,
    // Beside a running engine: SQLite's own locks keep both safe, and the engine looks at least once a second.
    open: async () =>
      (await load()).sqliteDriver({ file, role: "tool", create: false, now: () => Date.now() }),
    examine: async () => (await load()).examineSqlite({ file, now: () => Date.now() }),
    plan: null,
    enqueueIn: {
      kind: "sqlite",
      store: (connection, runs) => {
        if (loaded === undefined) throw new Error("The storage is not open")
        return loaded.enqueueIn(connection, runs, { file })
      },
    },
  }
}

const postgres = (text: string): Result.Result<ParsedStorage, InvalidInput> => {
  if (!URL.canParse(text)) return refuse("it is no address", text)
  const url = new URL(text)
  const ours = ["schema", "prepare"] as const
  const [schema, prepare] = ours.map((name) => url.searchParams.get(name))
  if (prepare !== null && prepare !== "true" && prepare !== "false")
    return refuse(`prepare is "${prepare}", and neither true nor false`, text)
  for (const name of ours) url.searchParams.delete(name)
  const options = {
    url: url.toString(),
    ...(schema === null || schema === undefined ? {} : { schema }),
    ...(prepare === "false" ? { prepare: false } : {}),
  }
  const load = () => import("../../adapters/store-sql/postgres.ts")
  return Result.succeed({
    name: `${hidden(url)}${schema === null ? "" : `, schema ${schema}`}`,
    layer: Layer.unwrap(Effect.map(Effect.promise(load), ({ layerPostgres }) => layerPostgres(options))),
    notifier: Layer.unwrap(
      Effect.map(Effect.promise(load), ({ layerPostgresNotifier }) => layerPostgresNotifier(options)),
    ),
    open: async () => (await load()).postgresDriver({ ...options, connectionsMax: 2 }),
    examine: async () => (await load()).examinePostgres(options),
    plan: async () => (await load()).migrationPlan(options),
    enqueueIn: {
      kind: "postgres",
      store: async (transaction, runs) => (await load()).enqueueIn(transaction, runs, options),
    },
  })
}

// What people see of an address: no password, and nothing behind the "?", where one may stand as well.
const hidden = (url: URL): string => {
  const shown = new URL(url)
  shown.password = ""
  shown.search = ""
  return shown.toString()
}

// The same of a text that may be no address: who it is for, and what is asked of it, may hold a password.
const withoutSecrets = (text: string): string => text.replace(/\/\/.*@/s, "//...@").replace(/\?.*/s, "?...")

const refuse = (reason: string, text: string): Result.Result<never, InvalidInput> =>
  Result.fail(
    new InvalidInput({
      field: "storage",
      reason: `${quote(withoutSecrets(text))} is not the address of a PostgreSQL database: ${reason}`,
      next: 'Write it as "postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=uhrwerk".',
    }),
  )
