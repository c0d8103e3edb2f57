// Bulk work of the command line: what `--where` says, done at once on the store, beside an engine that may be at work on it,
// by the code that the server does operations with.
import { createInterface } from "node:readline/promises"
import * as Result from "effect/Result"
import { makeIds } from "../../core/domain/Ids.ts"
import type { RunState } from "../../core/domain/Run.ts"
import { parseInstant } from "../../core/domain/TimeSpan.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import type { Acted } from "../bulk/Act.ts"
import { type Bulk, type BulkFilter, type BulkKind, openStates } from "../bulk/Bulk.ts"
import { previewOf } from "../bulk/Look.ts"
import { parseRate } from "../bulk/Rate.ts"
import { runBulk } from "../bulk/runBulk.ts"
import { exitCodes, NotNow, UsageError } from "./errors.ts"
import { isTable, plain, printRows } from "./format.ts"
import type { Flags } from "./open.ts"

/** What is said of each kind of it. */
const words: Readonly<Record<BulkKind, readonly [what: string, todo: string, done: string]>> = {
  cancelRuns: ["run", "cancel", "Cancelled"],
  replayDeadLetters: ["dead letter", "replay", "Replayed"],
  dropDeadLetters: ["dead letter", "drop", "Dropped"],
}

const letterFields = ["job", "error", "createdAfter", "createdBefore"]
const runFields = ["state", "job", "queue", "createdAfter", "createdBefore"]

/** `job=mail,error=TimeoutError` as a filter. Of letters, `error` is the name of an error, or a group's fingerprint. */
export const whereOf = (kind: BulkKind, text: string): BulkFilter => {
  const known = kind === "cancelRuns" ? runFields : letterFields
  const said: Record<string, string> = {}
  for (const part of text.split(",")) {
    const [field = "", ...rest] = part.split("=")
    const value = rest.join("=").trim()
    if (!known.includes(field.trim()) || value === "")
      throw new UsageError(`--where: "${part}" is no FIELD=VALUE with one of ${known.join(", ")}`)
    if (Object.hasOwn(said, field.trim())) throw new UsageError(`--where says ${field.trim()} twice`)
    said[field.trim()] = value
  }
  const { state, error, createdAfter, createdBefore, job, queue } = said
  if (state !== undefined && !(openStates as ReadonlyArray<string>).includes(state))
    throw new UsageError(`--where: state ${state} is none of ${openStates.join(", ")}`)
  return {
    ...(state === undefined ? {} : { state: state as RunState }),
    ...(job === undefined ? {} : { job }),
    ...(queue === undefined ? {} : { queue }),
    ...(error === undefined ? {} : /^[0-9a-f]{16}$/.test(error) ? { fingerprint: error } : { error }),
    ...(createdAfter === undefined ? {} : { createdAfter: instantOf("createdAfter", createdAfter) }),
    ...(createdBefore === undefined ? {} : { createdBefore: instantOf("createdBefore", createdBefore) }),
  }
}

const instantOf = (field: string, text: string): number =>
  Result.getOrThrow(parseInstant(`--where ${field}`, text))

/** Does what `--where` says, or says with `--dry-run` what it would do; answers the exit code. */
export const bulk = async (store: StoreDriver, kind: BulkKind, flags: Flags): Promise<number> => {
  const perSecond = flags.rate === undefined ? null : Result.getOrThrow(parseRate("--rate", flags.rate))
  const work: Bulk = {
    id: makeIds(
      () => Date.now(),
      () => (Math.random() * 2 ** 32) | 0,
    )(),
    kind,
    filter: whereOf(kind, flags.where ?? ""),
    namespace: null,
    reason: (flags.reason ?? "Cancelled from the command line").slice(0, 200),
    frozenAt: await store.now(),
  }
  const [what, todo] = words[kind]
  const preview = await previewOf(store, work)
  const many = `${preview.total.exact ? "" : "at least "}${counted(preview.total.value, what)}`
  if (flags["dry-run"] === true) {
    console.error(`Would ${todo} ${many}${preview.total.value > preview.sample.length ? ", such as:" : "."}`)
    if (isTable(flags)) for (const id of preview.sample) console.log(plain(id))
    else printRows(flags, [preview], {})
    return exitCodes.ok
  }
  if (kind !== "replayDeadLetters" && preview.total.value > 0 && flags.yes !== true)
    await confirm(`${todo[0]?.toUpperCase()}${todo.slice(1)} ${many}?`)
  const acted = await runBulk(store, work, {
    perSecond,
    wait: (millis) => new Promise((resolve) => setTimeout(resolve, millis)),
    onProgress: (so) => progress(so, many),
  })
  clear()
  return told(flags, kind, acted)
}

const told = (flags: Flags, kind: BulkKind, { done, skipped, failed, error }: Acted): number => {
  const [what, , past] = words[kind]
  const rest = [
    ...(skipped > 0 ? [`${skipped} had been dealt with meanwhile`] : []),
    ...(failed > 0 ? [`${failed} failed, the last one as: ${plain(error ?? "it is not known why")}`] : []),
  ]
  console.error([`${past} ${counted(done, what)}`, ...rest].join("; ") + ".")
  if (isTable(flags)) console.log(String(done))
  else printRows(flags, [{ done, skipped, failed, error }], {})
  return failed > 0 ? exitCodes.partial : exitCodes.ok
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`

/** Asks whoever sits at the terminal; where nobody does, only `--yes` counts. */
const confirm = async (question: string): Promise<void> => {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageError(`${question} Nobody can be asked here: say --yes, or look first with --dry-run`)
  const asked = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await asked.question(`${question} [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) throw new NotNow("Nothing was done")
  } finally {
    asked.close()
  }
}

/** One line that is written anew, for people only. */
const progress = ({ done, skipped, failed }: Acted, many: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${done + skipped + failed} of ${many}`)
}

const clear = (): void => {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K")
}
