// Where a program is, and what it is given as its environment.
import { accessSync, constants, statSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"
import type { Run } from "../../core/domain/Run.ts"
import type { Command } from "./Command.ts"

/** Why a program cannot be started; `name` is its error's. */
export class NotStarted extends Error {
  override readonly name = "NotStarted"
}

/**
 * The path of the program. A name is looked up in the engine's own PATH, never in the one that the program is given,
 * so that no job can choose another file. Throws `NotStarted`.
 */
export const findProgram = (program: string): string => {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(isAbsolute)
  const candidates = isAbsolute(program) ? [program] : folders.map((folder) => join(folder, program))
  const there = candidates.filter(isFile)
  const found = there.find(isExecutable)
  if (found !== undefined) return found
  const [first] = there
  if (first !== undefined) throw new NotStarted(`Cannot start "${program}": it may not be executed (EACCES)`)
  const where = isAbsolute(program) ? "there is no such file" : "it is in no folder of the engine's PATH"
  throw new NotStarted(`Cannot start "${program}": ${where} (ENOENT)`)
}

/** Throws `NotStarted` unless the folder is there: the runtimes say of a missing one that the program is missing. */
export const checkFolder = ({ program, cwd }: Command): void => {
  if (cwd === undefined || statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true) return
  throw new NotStarted(`Cannot start "${program}": its folder ("cwd") is not there (ENOENT)`)
}

/** The whole environment of the program. */
export const environmentOf = ({ env, pass }: Command, run: Run): Record<string, string> => {
  const passed = pass.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(passed),
    ...env,
    UHRWERK_RUN_ID: run.id,
    UHRWERK_JOB: run.job,
    UHRWERK_ATTEMPT: String(run.attempt),
    UHRWERK_ATTEMPT_MAX: String(run.attemptMax),
    UHRWERK_TOKEN: String(run.token),
    UHRWERK_DUE_AT: new Date(run.dueAt).toISOString(),
    ...(run.nominalAt === null ? {} : { UHRWERK_NOMINAL_AT: new Date(run.nominalAt).toISOString() }),
  }
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
