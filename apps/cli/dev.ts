// `uhrwerk dev`: an engine with its worker in this process, over the config's store, printing what happens.
// The first Ctrl-C drains, a second one stops at once; nothing is lost either way.
import type { Job } from "../../core/domain/Job.ts"
import { errorInfo } from "../../core/domain/Payload.ts"
import type { Run } from "../../core/domain/Run.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import { redactText } from "../../core/observe/redact.ts"
import { checkConfig, type Project } from "../sdk/config.ts"
import { type RunningEngine, startProject } from "../sdk/engine.ts"
import { runtimeName } from "../sdk/runtime.ts"
import { startRecordUpkeep } from "../server/recordUpkeep.ts"
import { makeRunLog } from "../server/RunLog.ts"
import { openSharedStore } from "../server/SharedStore.ts"
import { exitCodes, UsageError } from "./errors.ts"
import { fastForward } from "./fastForward.ts"
import { paint, plain, spanOf, timeOf } from "./format.ts"
import { triggerText } from "./jobs.ts"
import { loadConfig } from "./loadConfig.ts"
import type { Command, Flags } from "./open.ts"
import { signals } from "./signals.ts"

/** A project on this machine. */
export const dev: Command = {
  usage: "dev [CONFIG]",
  about: "run a project here: engine and worker in one process, without a port",
  run: async (args, flags) => {
    if (flags["fast-forward"] !== undefined) return fastForward.run(args, flags)
    return work(args, flags)
  },
}

/** What runs until it is asked to stop. */
export interface Working {
  readonly load: RunningEngine["load"]
  readonly stop: () => Promise<void>
}

/** Runs a project until a signal, or until the engine is too old for its store; what `dev` and `serve` have in common. */
export const work = async (
  args: ReadonlyArray<string>,
  flags: Flags,
  start: (project: Project, onEvent: (event: EngineEvent) => void) => Promise<Working> = startEngine,
): Promise<number> => {
  if (args.length > 1) throw new UsageError("This command takes one config file")
  if (flags["run-handlers"] === true) throw new UsageError("--run-handlers belongs to --fast-forward")
  // Whoever reads the output may go away (`| head`), and the engine works on: unheard, the error would come back
  // as trouble, which is printed, and so on for ever.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
  const stop = signals("Stopped at once. What was running starts again at the next start.")
  const config = await loadConfig(args[0])
  const project = await checkConfig(config)
  say(
    `uhrwerk on ${runtimeName()}, storage ${project.storage.name}, ${project.slots} slots, process ${process.pid}`,
  )
  for (const { name } of config.jobs) {
    const starts = project.schedules
      .filter(({ job }) => job === name)
      .map(({ trigger }) => triggerText(trigger))
    const steps = project.flows.get(name)?.steps.length
    const size = steps === undefined ? "" : `, a flow of ${steps} ${steps === 1 ? "step" : "steps"}`
    say(`  ${name}: ${starts.join("; ") || "when sent"}${size}${whereOf(project.book.jobs.get(name))}`)
  }
  const tell = printer(project)
  let isOutdated = false
  const onEvent = (event: EngineEvent): void => {
    tell(event)
    if (event.kind !== "outdated") return
    isOutdated = true
    stop.ask()
  }
  const engine = await start(project, onEvent)
  await stop.asked
  const { carried } = engine.load()
  say(
    `Draining: ${carried} ${carried === 1 ? "run" : "runs"} in hand, at most ${spanOf(project.graceMillis)}. Ctrl-C again stops at once.`,
  )
  await engine.stop()
  say("Stopped. Nothing was lost: what was not finished goes on at the next start.")
  stop.done()
  return isOutdated ? exitCodes.conflict : exitCodes.ok
}

/** An engine without a port, which keeps what runs say as a server does. */
const startEngine = async (project: Project, onEvent: (event: EngineEvent) => void): Promise<Working> => {
  const store = await openSharedStore(project)
  const trouble = (doing: string, error: unknown): void =>
    onEvent({ kind: "trouble", doing, error: errorInfo(error).message })
  const log = makeRunLog({
    store: store.store,
    retentionMillis: project.retentionMillis,
    onTrouble: (error) => trouble("keep the log of runs", error),
  })
  try {
    const engine = await startProject(store.project, {
      onEvent: (event) => {
        log.hear(event)
        onEvent(event)
      },
    })
    const endUpkeep = startRecordUpkeep(store.store, (error) => trouble("remove old records", error))
    const stop = async (): Promise<void> => {
      endUpkeep()
      await engine.stop()
      await log.stop()
      await store.close()
    }
    return { load: engine.load, stop }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Where the runs of a job go that is left to workers. */
const whereOf = (job: Job | undefined): string => {
  const { where = null, broadcast = false } = job?.placement ?? {}
  if (job?.placement === undefined) return ""
  return `, on ${broadcast ? "all workers" : "workers"}${where === null ? "" : ` with ${plain(where, 512)}`}`
}

/** A line for people. */
export const say = (line: string): void => console.log(line)

/** The same with the time before it. */
export const line = (
  colour: Parameters<typeof paint>[0],
  mark: string,
  text: string,
  at = Date.now(),
): void => say(`${paint("grey", timeOf(at))}  ${paint(colour, mark)} ${text}`)

/** Prints what happens in an engine of this project. */
const printer = ({ flows }: Project): ((event: EngineEvent) => void) => {
  const lists = new Set(
    [...flows.values()].flatMap(({ steps }) =>
      steps.flatMap(({ job, items }) => (items === null ? [] : [job])),
    ),
  )
  return (event) => {
    if (event.kind === "ended") return printEnd(event, flows.has(event.run.job))
    if (event.kind === "expanded") return printExpanded(event, lists.has(event.run.job))
    print(event)
  }
}

// What prints here is often kept in a log of the system.
const told = (text: string, max = 500): string => plain(redactText(text), max)

// An item says which one of its list it is.
const nameOf = ({ job, step }: Run): string =>
  step !== null && job.endsWith("[]") ? `${job.slice(0, -1)}${step}]` : job

const print = (event: Exclude<EngineEvent, { kind: "ended" | "expanded" }>): void => {
  switch (event.kind) {
    case "started": {
      const { id, attempt, attemptMax } = event.run
      const try_ = attempt > 1 ? `, attempt ${attempt} of ${attemptMax}` : ""
      const late = spanOf(Math.max(0, event.latenessMillis))
      return line(
        "blue",
        ">",
        `${paint("bold", nameOf(event.run))} started${try_}, ${late} late  ${paint("grey", id)}`,
        event.at,
      )
    }
    case "log":
      return line("grey", "|", `${nameOf(event.run)}: ${told(event.line)}`)
    case "progress": {
      const share = event.percent === null ? "" : `${Math.floor(event.percent)} %`
      const text = [share, told(event.note ?? "")].filter((each) => each !== "").join(", ")
      return line("grey", "|", `${nameOf(event.run)}: ${text || "at work"}`)
    }
    case "stale":
      return line(
        "yellow",
        "!",
        `${nameOf(event.run)}: the outcome came too late and was not applied  ${event.run.id}`,
      )
    case "reclaimed":
      return line("yellow", "!", `${event.job}: taken back from a lost node, now ${event.state}  ${event.id}`)
    case "occurrence":
      return line(
        "yellow",
        "-",
        `${event.scheduleId}: ${event.count} skipped (${event.reason}), for ${timeOf(event.at)}`,
      )
    case "worker":
      return printWorker(event)
    case "leaseLost":
      return line("red", "!", `This node lost its lease; its runs were stopped and start again elsewhere`)
    case "clockBack":
      return line(
        "yellow",
        "!",
        `The clock was set back by ${spanOf(event.millis)}; ${event.schedules} schedules that mean elapsed time go on at once`,
      )
    case "zoneData":
      return line(
        "yellow",
        "!",
        `${event.scheduleId}: its next start was computed with other zone data (${event.stored}; here ${event.own})${
          event.before === null || event.before === event.after ? "" : `, it was ${timeOf(event.before)}`
        }${event.after === null ? "" : `, next ${timeOf(event.after)}`}`,
      )
    case "calendar": {
      const moved = event.schedules === 0 ? "" : `; the next start of ${event.schedules} schedules moved`
      return line("grey", "-", `Calendar ${plain(event.name)} ${event.change}${moved}`)
    }
    case "caution":
      return line("yellow", "!", `${plain(event.text, 500)} (uhrwerk doctor says more)`)
    case "outdated":
      return line("red", "!", `This node is too old for its store and ends: ${plain(event.reason, 500)}`)
    case "trouble":
      return line("red", "!", `Cannot ${event.doing}: ${plain(event.error, 500)}`)
  }
}

const workerNews = {
  connected: ["green", "+", "is connected"],
  resumed: ["green", "+", "is back, and goes on"],
  alive: ["green", "+", "answers again"],
  suspect: ["yellow", "!", "is silent"],
  draining: ["yellow", "-", "drains"],
  cut: ["yellow", "!", "lost its connection; it may come back"],
  over: ["yellow", "-", "is gone"],
  denied: ["yellow", "!", "was not let in"],
  refused: ["red", "!", "sent what the protocol does not allow"],
} as const

const printWorker = ({ worker, what, reason }: Extract<EngineEvent, { kind: "worker" }>): void => {
  const [colour, mark, news] = workerNews[what]
  const why = reason === null ? "" : `: ${plain(reason)}`
  line(colour, mark, `Worker ${paint("bold", plain(worker, 128))} ${news}${why}`)
}

const printExpanded = ({ run, steps }: Extract<EngineEvent, { kind: "expanded" }>, isList: boolean): void => {
  const what = isList ? "item" : "step"
  const size = `${steps} ${what}${steps === 1 ? "" : "s"}`
  line("blue", ">", `${paint("bold", nameOf(run))} has ${size}  ${paint("grey", run.id)}`)
}

const printEnd = (event: Extract<EngineEvent, { kind: "ended" }>, isFlow: boolean): void => {
  const job = paint("bold", nameOf(event.run))
  const took = spanOf(event.durationMillis)
  const why = event.error === null ? "" : `: ${told(`${event.error.name}: ${event.error.message}`, 200)}`
  const attempt = `attempt ${event.run.attempt} of ${event.run.attemptMax}`
  const again = event.dueAt === null ? "" : `, again at ${timeOf(event.dueAt)}`
  switch (event.state) {
    case "succeeded":
      return line(
        "green",
        "+",
        `${job} succeeded in ${took}${event.output === null ? "" : `: ${told(event.output, 100)}`}`,
      )
    case "retrying":
      return line("yellow", "~", `${job} failed in ${took} (${attempt})${why}${again}`)
    case "dead":
      return line(
        "red",
        "x",
        `${job} ${event.run.parentId === null ? "is dead" : "failed for good"} after ${attempt}${why}\n    ${lookAt(event.run, isFlow)}`,
      )
    case "scheduled":
      return line("yellow", "~", `${job} snoozed after ${took}${again}`)
    case "ready":
      return line("yellow", "-", `${job} is handed back unfinished after ${took}, and starts again later`)
    case "skipped":
      return line(
        "yellow",
        "-",
        `${job} is skipped: ${plain(event.run.reason ?? "its condition does not hold")}`,
      )
    default: {
      const reason = event.run.reason === null ? why : `: ${plain(event.run.reason)}`
      return line("yellow", "-", `${job} is ${event.state} after ${took}${reason}`)
    }
  }
}

// The run of a step has no letter: what it comes to is decided by its flow run.
const lookAt = ({ id, parentId }: Run, isFlow: boolean): string =>
  parentId !== null
    ? `uhrwerk run show ${id}`
    : isFlow
      ? `uhrwerk flow show ${id}\n    uhrwerk flow rerun ${id} --from-failed`
      : `uhrwerk dead show ${id}`
