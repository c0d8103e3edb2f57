// `uhrwerk worker`: carries out a server's runs with the handlers of a config, over one connection that it opens itself. Of
// the config's storage and schedules nothing is used. The first Ctrl-C drains, a second one stops at once.
import { readFileSync } from "node:fs"
import type { TimeSpan } from "../../core/domain/TimeSpan.ts"
import { redactText } from "../../core/observe/redact.ts"
import { slotsMax } from "../../core/protocol/Limits.ts"
import { runtimeName } from "../sdk/runtime.ts"
import { worker as makeWorker } from "../worker/worker.ts"
import type { ConfigOptions } from "../worker/Setting.ts"
import type { WorkerEnd } from "../worker/WorkerEnd.ts"
import type { AttemptView, WorkerEvent } from "../worker/WorkerEvent.ts"
import { exitCodes, UsageError } from "./errors.ts"
import { paint, plain, spanOf, timeOf } from "./format.ts"
import { findConfig, noConfig } from "./loadConfig.ts"
import { countOf, type Command, type Flags, none } from "./open.ts"
import { signals } from "./signals.ts"

const defaultUrl = "ws://127.0.0.1:8080/v1/worker"

/** A remote worker. */
export const worker: Command = {
  usage: "worker [--config FILE] [--url ws://HOST:PORT/v1/worker] [--token-file FILE]",
  about: "run a worker: take runs from a server, with the handlers of a config",
  run: async (args, flags) => {
    none(args)
    // Whoever reads the output may go away, and the worker works on.
    for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
    const options = optionsOf(flags)
    const stop = signals("Stopped at once. What was running is given to others.")
    const running = await makeWorker(options).start({ onEvent: printer() })
    const { jobs, slots } = running.state()
    say(
      `uhrwerk worker "${running.name}" on ${runtimeName()}, ${slots} slots, process ${process.pid}, server ${plain(options.url)}`,
    )
    say(`  jobs: ${plain(jobs.join(", "), 500) || "none that has a handler"}`)
    void stop.asked.then(() => running.stop())
    const end = await running.done
    stop.done()
    if (end.error !== null) console.error(`uhrwerk: ${plain(end.error.message, 1000)}`)
    return codeOf(end)
  },
}

const codeOf = ({ why }: WorkerEnd): number => {
  if (why === "drained" || why === "dismissed") return exitCodes.ok
  if (why === "denied") return exitCodes.denied
  return why === "unreachable" ? exitCodes.unreachable : exitCodes.failed
}

const optionsOf = (flags: Flags): ConfigOptions => {
  const config = flags.config ?? findConfig()
  if (config === undefined) throw noConfig("uhrwerk worker --config FILE")
  const token = tokenOf(flags["token-file"])
  const { handlers } = flags
  return {
    config,
    url: flags.url ?? process.env["UHRWERK_URL"] ?? defaultUrl,
    labels: labelsOf(flags.label ?? []),
    ...(token === undefined ? {} : { token }),
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.queue === undefined ? {} : { queues: flags.queue }),
    ...(flags.concurrency === undefined
      ? {}
      : { concurrency: countOf("--concurrency", flags.concurrency, 1, slotsMax) }),
    ...(flags.prefetch === undefined
      ? {}
      : { prefetch: flags.prefetch === "0" ? 0 : countOf("--prefetch", flags.prefetch, 1, slotsMax) }),
    // Whatever else they are is refused where options are checked.
    ...(handlers === undefined ? {} : { handlers: handlers as NonNullable<ConfigOptions["handlers"]> }),
    ...(flags["give-up"] === undefined ? {} : { giveUp: flags["give-up"] as TimeSpan }),
  }
}

/** Of the file, or of the environment; never of a flag, which other users of the machine can read. */
const tokenOf = (file: string | undefined): string | undefined => {
  if (file === undefined) return process.env["UHRWERK_WORKER_TOKEN"]
  try {
    return readFileSync(file, "utf8").trim()
  } catch (error) {
    throw new UsageError(`--token-file: cannot read "${file}": ${(error as Error).message}`)
  }
}

const labelsOf = (given: ReadonlyArray<string>): Record<string, string | number | boolean> => {
  const labels: Record<string, string | number | boolean> = {}
  for (const each of given) {
    const at = each.indexOf("=")
    if (at < 1) throw new UsageError(`--label ${each} is not of the form NAME=VALUE, such as region=eu`)
    labels[each.slice(0, at)] = valueOf(each.slice(at + 1))
  }
  return labels
}

/** Rules compare numbers as numbers, so what is written as one is one. */
const valueOf = (text: string): string | number | boolean => {
  if (text === "true" || text === "false") return text === "true"
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) ? Number(text) : text
}

const say = (line: string): void => console.log(line)

const line = (colour: Parameters<typeof paint>[0], mark: string, text: string): void =>
  say(`${paint("grey", timeOf(Date.now()))}  ${paint(colour, mark)} ${text}`)

// A server that is away for long is said so, but not with every try.
const unreachableMillis = 60_000

/** Prints what happens to a worker. */
const printer = (): ((event: WorkerEvent) => void) => {
  let saidAt = Number.NEGATIVE_INFINITY
  return (event) => {
    switch (event.kind) {
      case "connected":
        saidAt = Number.NEGATIVE_INFINITY
        return line(
          "green",
          "+",
          `${event.resumed ? "Connected again" : "Connected"} to ${plain(event.node)}`,
        )
      case "lost":
        return line(
          "yellow",
          "!",
          `Connection lost (${event.code}${event.reason === "" ? "" : `: ${plain(event.reason)}`}), again in ${spanOf(event.retryInMillis)}`,
        )
      case "unreachable":
        if (performance.now() - saidAt < unreachableMillis) return
        saidAt = performance.now()
        return line("yellow", "!", `No server: ${plain(event.reason, 300)}. Trying on`)
      case "started":
        return line("blue", ">", `${nameOf(event)} started${attemptOf(event)}  ${paint("grey", event.run)}`)
      case "ended":
        return printEnd(event)
      case "acknowledged":
        if (event.result === "settled") return
        return line("yellow", "!", `The outcome came too late and was not applied  ${event.run}`)
      case "stopping":
        return line("yellow", "-", `${nameOf(event)} is told to stop: ${event.reason}`)
      case "log":
        return line("grey", "|", `${plain(event.job)}: ${plain(redactText(event.line), 500)}`)
      case "progress":
        return
      case "dropped":
        return line("yellow", "!", `${event.lines} lines of logs were not sent, as there were too many`)
      case "draining": {
        const who = event.by === "worker" ? "Draining" : "The server drains"
        const more = event.by === "worker" ? ". Ctrl-C again stops at once" : ""
        return line("yellow", "-", `${who}: handlers have ${spanOf(event.graceMillis)} to end${more}`)
      }
      case "trouble":
        return line("red", "!", `Cannot ${event.doing}: ${plain(event.error, 500)}`)
      case "over":
        return line(event.end.error === null ? "green" : "red", "-", `Ended: ${endText(event.end)}`)
    }
  }
}

const nameOf = ({ job }: AttemptView): string => paint("bold", plain(job))
const attemptOf = ({ attempt }: AttemptView): string => (attempt > 1 ? `, attempt ${attempt}` : "")

const printEnd = (event: Extract<WorkerEvent, { readonly kind: "ended" }>): void => {
  const took = spanOf(event.durationMillis)
  if (event.error === null)
    return line(
      event.outcome === "succeeded" ? "green" : "yellow",
      "+",
      `${nameOf(event)} ${event.outcome} in ${took}`,
    )
  const { name, message } = event.error
  line(
    "red",
    "x",
    `${nameOf(event)} failed in ${took}${attemptOf(event)}: ${plain(redactText(`${name}: ${message}`))}`,
  )
}

const endText = ({ why, reason, unacknowledged }: WorkerEnd): string => {
  const rest =
    unacknowledged === 0
      ? ""
      : `; ${unacknowledged} outcomes were not acknowledged, and their runs are given to others`
  return `${why}${why === "drained" || reason === "" ? "" : ` (${plain(reason)})`}${rest}`
}
