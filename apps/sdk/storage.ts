// Where a project keeps its runs, as text or as a store of one's own.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { layerMemory } from "../../adapters/store-memory/mod.ts"
import { InvalidInput, type StoreInUse, type StoreUnusable } from "../../core/domain/Errors.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import type { Store } from "../../core/ports/Store.ts"

/** `"sqlite:FILE"`, `"memory:"`, or an object whose `layer` opens a store. */
export type Storage = `sqlite:${string}` | "memory:" | { readonly name: string; readonly layer: StoreLayer }

/** A store's services as a layer. */
export type StoreLayer = Layer.Layer<Store, StoreUnusable | StoreInUse>

/** An opened choice. */
export interface ParsedStorage {
  /** As people know it. */
  readonly name: string
  /** The SQLite file, where it is one. */
  readonly file: string | null
  readonly layer: StoreLayer
}

/** Checks the choice; nothing is opened yet. */
export const parseStorage = (
  storage: Storage = "sqlite:uhrwerk.db",
): Result.Result<ParsedStorage, InvalidInput> => {
  if (typeof storage === "object" && storage !== null && Layer.isLayer(storage.layer)) {
    return Result.succeed({ name: storage.name, file: null, layer: storage.layer })
  }
  if (storage === "memory:") return Result.succeed({ name: "memory", file: null, layer: layerMemory })
  const file =
    typeof storage === "string" && storage.startsWith("sqlite:") ? storage.slice("sqlite:".length) : ""
  if (file !== "") return Result.succeed({ name: file, file, layer: sqlite(file) })
  return Result.fail(
    new InvalidInput({
      field: "storage",
      reason: `${quote(storage)} is not a storage`,
      next: 'Write "sqlite:FILE", such as "sqlite:uhrwerk.db", or "memory:".',
    }),
  )
}

// Loaded when it is needed: Drizzle takes longer to load than all the rest.
const sqlite = (file: string): StoreLayer =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("../../adapters/store-sql/sqlite.ts")),
      ({ layerSqlite }) => layerSqlite({ file }),
    ),
  )
