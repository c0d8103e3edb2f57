// `uhrwerk job run`: sends a run of a job or flow of this folder's config to the store, where an engine takes it, and may
// wait for its end.
import * as Result from "effect/Result"
import { UnknownJob } from "../../core/domain/Errors.ts"
import { knownNames } from "../../core/domain/Job.ts"
import { encodePayload } from "../../core/domain/Payload.ts"
import type { TimeSpan } from "../../core/domain/TimeSpan.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { newRuns, type RunRequest } from "../../core/run/Enqueue.ts"
import { checkConfig, type Project } from "../sdk/config.ts"
import { checkInput } from "../sdk/input.ts"
import { checkSend } from "../sdk/send.ts"
import { exitCodes, UsageError } from "./errors.ts"
import { newId } from "./flowHands.ts"
import { printAnswer } from "./format.ts"
import { findConfig, loadConfig } from "./loadConfig.ts"
import { type Command, type Flags, jsonOf, only, storeCommand } from "./open.ts"
import { tellEnd, waitForEnd } from "./runHands.ts"

/** The command. */
export const jobRun: Command = storeCommand(
  "job run NAME [--input JSON|@FILE] [--delay SPAN] [--key KEY] [--wait] [--timeout SPAN]",
  "send a run; reads the config. With --wait: exit code 10 when it did not succeed, 7 when the time is over before",
  async (store, args, flags) => {
    const name = only(args, "name of a job or flow")
    if (flags.timeout !== undefined && flags.wait !== true)
      throw new UsageError("--timeout says how long to wait: give --wait too")
    if (findConfig() === undefined)
      throw new UsageError("Runs are made of the config's jobs: go to the folder with uhrwerk.config.ts")
    const project = await checkConfig(await loadConfig(undefined))
    const rows = Result.getOrThrow(newRuns(project.book, newId, await requestOf(project, name, flags)))
    // The run that was asked for is the last one, after those that it needs.
    const sent = (await store.enqueue(rows)).at(-1)
    if (sent === undefined) throw new Error("The store did not answer")
    const { id, result, state } = sent
    console.error(
      `${result === "created" ? `Run ${id} is stored` : `Run ${id} has this key already, and is ${state}`}. ${await whatNext(store, id)}`,
    )
    if (flags.wait === true) return tellEnd(await waitForEnd(store, id, flags), flags)
    printAnswer(flags, { id, created: result === "created" }, id)
    return exitCodes.ok
  },
)

const requestOf = async (project: Project, name: string, flags: Flags): Promise<RunRequest> => {
  const job = project.jobs.get(name) ?? project.flows.get(name)?.flow
  if (job === undefined)
    throw new UnknownJob({
      job: name,
      field: "job",
      reason: `no job or flow named "${name}" is in the config`,
      next: `Correct the name. Known: ${knownNames(new Map<string, unknown>([...project.jobs, ...project.flows]))}.`,
    })
  const input = jsonOf("--input", flags.input)
  await checkInput("--input", job.options.input, input)
  const { delay, key } = flags
  return Result.getOrThrow(
    checkSend(name, Result.getOrThrow(encodePayload("--input", input)), {
      // A text of any kind; what is no span is refused there.
      ...(delay === undefined ? {} : { delay: delay as TimeSpan }),
      ...(key === undefined ? {} : { key }),
    }),
  )
}

const whatNext = async (store: StoreDriver, id: string): Promise<string> => {
  const now = await store.now()
  return (await store.nodes()).some(({ expiresAt }) => expiresAt > now)
    ? `What became of it: uhrwerk run show ${id}`
    : "No engine is running on this store; start one: uhrwerk dev"
}
