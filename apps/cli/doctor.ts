// `uhrwerk doctor`: whether an engine can work here and on this storage, as a list of what was looked at, what was found
// and what mends it. Nothing is changed. For people, and for deployments that go by its exit code.
import * as Result from "effect/Result"
import { fail, type Finding, ok } from "../../core/ports/Examination.ts"
import { examineMachine, examineStore } from "../sdk/checkup.ts"
import { parseStorage, type ParsedStorage } from "../sdk/storage.ts"
import { UsageError } from "./errors.ts"
import { isTable, paint, printRows } from "./format.ts"
import { loadConfig } from "./loadConfig.ts"
import { type Command, type Flags, storageOf } from "./open.ts"
import { plain } from "./text.ts"

/** The command. */
export const doctor: Command = {
  usage: "doctor [CONFIG] [--json]",
  about: "whether an engine can work here: exit code 1 if not; each line says what mends it",
  run: async (args, flags) => {
    const storage = await storageFor(args, flags)
    const findings = [...examineMachine(), ...(await examineStorage(storage))]
    const failures = findings.filter(({ state }) => state === "fail").length
    if (flags.json !== true && isTable(flags)) print(storage.name, findings)
    else printRows({ ...flags, output: flags.output ?? "json" }, findings, {})
    return failures === 0 ? 0 : 1
  },
}

const storageFor = async (args: ReadonlyArray<string>, flags: Flags): Promise<ParsedStorage> => {
  const [config, ...more] = args
  if (more.length > 0) throw new UsageError("This command takes one config file")
  if (config === undefined) return storageOf(flags)
  if (flags.storage !== undefined) throw new UsageError("Name a config file or --storage, not both")
  return Result.getOrThrow(parseStorage((await loadConfig(config)).storage))
}

const examineStorage = async ({ name, examine }: ParsedStorage): Promise<ReadonlyArray<Finding>> => {
  if (examine === null)
    return [ok("storage", `"${name}" lives in the engine's process: nothing to look at from here`)]
  const { findings, store } = await examine()
  if (store === null) return findings
  try {
    return [...findings, ...(await examineStore(store))]
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return [...findings, fail("store", `cannot be read: ${reason}`, "Mend what is above, and look again.")]
  } finally {
    await store.close()
  }
}

const marks = { ok: ["green", "ok"], warn: ["yellow", "warn"], fail: ["red", "FAIL"] } as const
const stateWidth = 6
const widthMax = 100

const print = (storage: string, findings: ReadonlyArray<Finding>): void => {
  const whatWidth = Math.max(...findings.map(({ what }) => what.length)) + 2
  const indent = stateWidth + whatWidth
  const width = Math.min(process.stdout.columns ?? 80, widthMax)
  console.log(`Storage ${plain(storage)}`)
  console.log("")
  for (const { state, what, found, mend } of findings) {
    const [colour, mark] = marks[state]
    const [first = "", ...rest] = wrapped(plain(found, 1000), width - indent)
    console.log(
      `${paint(colour, mark)}${"".padEnd(stateWidth - mark.length)}${what.padEnd(whatWidth)}${first}`,
    )
    for (const line of rest) console.log(`${"".padEnd(indent)}${line}`)
    if (mend === null) continue
    wrapped(plain(mend, 1000), width - indent - 3).forEach((line, index) =>
      console.log(`${"".padEnd(indent)}${index === 0 ? "-> " : "   "}${paint("bold", line)}`),
    )
  }
  console.log("")
  console.log(summary(findings))
}

const summary = (findings: ReadonlyArray<Finding>): string => {
  const many = (wanted: Finding["state"]): number => findings.filter(({ state }) => state === wanted).length
  const [failures, warnings] = [many("fail"), many("warn")]
  const of = `${findings.length} things looked at`
  if (failures > 0)
    return `${of}: ${failures} must be mended${warnings === 0 ? "" : `, ${warnings} to know about`}.`
  return warnings === 0 ? `${of}: all is well.` : `${of}: an engine can work; ${warnings} to know about.`
}

/** Lines of at most so many characters, cut at blanks; a word that is longer has its own. */
const wrapped = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === "" ? word : `${line} ${word}`
  }
  return [...lines, line]
}
