// Why a file cannot serve: what SQLite and the operating system say, as one refusal with the next thing to do.
import { existsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { StoreInUse, StoreUnusable } from "../../../core/domain/Errors.ts"

/** The refusal for whatever went wrong while `file` was opened; an error that says something else as it is. */
export const unusable = (file: string, error: unknown): unknown => {
  if (error instanceof StoreUnusable || error instanceof StoreInUse) return error
  const message = error instanceof Error ? error.message : String(error)
  const refuse = (kind: StoreUnusable["kind"], reason: string, next: string): StoreUnusable =>
    new StoreUnusable({ kind, field: `storage "${file}"`, reason, next })
  if (/not a database|malformed|encrypted|no such (table|column|index)/i.test(message)) {
    return refuse(
      "notADatabase",
      `the file is not a usable SQLite database (${message})`,
      "Name another file, or restore this one from a backup; it was not changed.",
    )
  }
  if (/locked|busy/i.test(message)) {
    return refuse(
      "notWritable",
      `another program holds the file (${message})`,
      "Wait until it is done with it, or stop it, and try again.",
    )
  }
  if (/unable to open|no such file/i.test(message)) {
    const folder = dirname(file)
    if (!existsSync(folder)) {
      return refuse("notFound", `the folder "${folder}" does not exist`, "Create it, or correct the path.")
    }
    if (!existsSync(file)) {
      return refuse(
        "notFound",
        "the file does not exist, or cannot be made",
        "Check the path, and that this user may write to the folder; `uhrwerk dev` makes a file at its first start.",
      )
    }
    if (statSync(file).isDirectory()) {
      return refuse("notWritable", "it is a folder", "Name a file in it.")
    }
  }
  if (/unable to open|readonly|read-only|permission|disk I\/O|no such file|full/i.test(message)) {
    return refuse(
      "notWritable",
      `the file cannot be opened for writing (${message})`,
      "Check that this user may write to it and to its folder, and that the disk has room.",
    )
  }
  return error
}

/** The file was written by a newer version of this program. */
export const newerSchema = (file: string, version: number, known: number): StoreUnusable =>
  new StoreUnusable({
    kind: "newerSchema",
    field: `storage "${file}"`,
    reason: `the file has schema version ${version}, this program knows ${known}`,
    next: "Upgrade uhrwerk, or name another file.",
  })

/** The file is another program's. */
export const foreignFile = (file: string, table: string): StoreUnusable =>
  new StoreUnusable({
    kind: "notADatabase",
    field: `storage "${file}"`,
    reason: `the file is another program's database (it has a table "${table}")`,
    next: "Name another file; this one was not changed.",
  })
