// The program of a room: loads the config and runs its handlers, one attempt at a time, for the worker that made it. In a
// thread or in a process; whichever it is, the same messages come and go.
import { isMainThread, parentPort, workerData } from "node:worker_threads"
import { errorInfo } from "../../core/domain/Payload.ts"
import type { Started } from "../../core/ports/Executor.ts"
import { loadConfig } from "../cli/loadConfig.ts"
import { checkConfig } from "../sdk/config.ts"
import { guardProcess } from "../sdk/guard.ts"
import { openHere } from "./Here.ts"
import type { Place } from "./Place.ts"
import type { FromRoom, Told, ToRoom } from "./RoomMessage.ts"

interface Port {
  /** Of the config. */
  readonly file: string
  readonly post: (message: FromRoom) => void
  readonly listen: (listener: (message: ToRoom) => void) => void
}

const openPort = (): Port => {
  if (!isMainThread && parentPort !== null) {
    const port = parentPort
    return {
      file: (workerData as { readonly file: string }).file,
      post: (message) => port.postMessage(message),
      listen: (listener) => port.on("message", listener),
    }
  }
  // The worker is gone, and nobody waits for what this came to.
  process.on("disconnect", () => process.exit(0))
  // Ctrl-C in a terminal goes to the whole group: it is the worker that drains.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {})
  return {
    file: process.argv[2] ?? "",
    post: (message) => void process.send?.(message),
    listen: (listener) => process.on("message", (message) => listener(message as ToRoom)),
  }
}

const port = openPort()
let place: Place | undefined
let started: Started | undefined

const start = ({ needs, ...assignment }: Told): void => {
  const { id: run, token } = assignment.run
  started = place?.start(
    { ...assignment, needs: new Map(needs) },
    () => {},
    (outcome) => port.post({ kind: "ended", run, token, outcome }),
  )
}

const close = async (): Promise<void> => {
  await place?.close()
  process.exit(0)
}

port.listen((message) => {
  if (message.kind === "start") start(message.assignment)
  else if (message.kind === "stop") started?.stop(message.reason)
  else void close()
})
guardProcess({
  publish: (event) => {
    if (event.kind === "trouble") port.post({ kind: "trouble", doing: event.doing, error: event.error })
  },
})
try {
  place = await openHere(await checkConfig(await loadConfig(port.file)), port.post)
  port.post({ kind: "ready" })
} catch (error) {
  port.post({ kind: "broken", error: errorInfo(error).message })
}
