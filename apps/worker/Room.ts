// One room: a thread or a process in which one handler runs at a time, seen from the worker. Whatever happens to it ends
// the attempt in it and nothing else.
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Worker } from "node:worker_threads"
import { failed, type Outcome } from "../../core/domain/Outcome.ts"
import type { Assignment, StopReason } from "../../core/ports/Executor.ts"
import type { Running, Said } from "./Place.ts"
import type { FromRoom, ToRoom } from "./RoomMessage.ts"
import { notBegun } from "./stopped.ts"
import { after } from "./Time.ts"

/** How long it may take to load the config, in milliseconds. */
const bootMillisMax = 30_000
/** How long a room that was asked to end may take, in milliseconds. */
const closeMillisMax = 2_000

/** What a room is made of. */
export interface RoomOptions {
  readonly kind: "thread" | "process"
  /** Of the config. */
  readonly file: string
  readonly say: (said: Said) => void
  /** It can do another attempt. */
  readonly onFree: (room: Room) => void
  /** It is no more. */
  readonly onGone: (room: Room) => void
}

interface Task {
  readonly assignment: Assignment
  readonly began: () => void
  readonly done: (outcome: Outcome) => void
}

interface Link {
  readonly post: (message: ToRoom) => void
  /** Resolves when it is gone, as far as the runtime can tell. */
  readonly kill: () => Promise<unknown>
}

/** A room. */
export class Room {
  readonly #options: RoomOptions
  readonly #link: Link
  readonly #takeBackBoot: () => void
  #isReady = false
  #isGone = false
  #task: Task | null = null
  readonly #whenGone = Promise.withResolvers<void>()

  constructor(options: RoomOptions) {
    this.#options = options
    this.#takeBackBoot = after(bootMillisMax, () => this.#kill(`did not start within ${bootMillisMax} ms`))
    const open = options.kind === "thread" ? openThread : openProcess
    this.#link = open(
      options.file,
      (message) => this.#heard(message),
      (why) => this.#gone(why),
    )
  }

  /** Runs an attempt; only for a room that is free. */
  start(assignment: Assignment, began: () => void, done: (outcome: Outcome) => void): Running {
    const task = { assignment, began, done }
    this.#task = task
    if (this.#isReady) this.#begin(task)
    return {
      stop: (reason) => this.#stop(task, reason),
      kill: () => {
        if (this.#task === task) this.#kill("was ended, as its handler did not stop")
      },
    }
  }

  /** Lets it end by itself, and ends it if it does not. */
  async close(): Promise<void> {
    if (this.#isGone) return
    this.#link.post({ kind: "close" })
    const takeBack = after(closeMillisMax, () => this.#kill("was ended with its worker"))
    await this.#whenGone.promise
    takeBack()
  }

  #begin({ assignment, began }: Task): void {
    const { needs, ...rest } = assignment
    began()
    this.#link.post({ kind: "start", assignment: { ...rest, needs: [...needs] } })
  }

  #stop(task: Task, reason: StopReason): void {
    if (this.#task !== task) return
    if (this.#isReady) return this.#link.post({ kind: "stop", reason })
    // Its handler was not called yet.
    this.#task = null
    task.done(notBegun(reason, task.assignment.timeoutMillis))
  }

  #heard(message: FromRoom): void {
    if (this.#isGone) return
    switch (message.kind) {
      case "ready":
        this.#isReady = true
        this.#takeBackBoot()
        if (this.#task === null) this.#options.onFree(this)
        else this.#begin(this.#task)
        break
      case "broken":
        return this.#kill(`cannot load the config: ${message.error}`)
      case "ended": {
        const task = this.#task
        const run = task?.assignment.run
        if (task === null || run?.id !== message.run || run.token !== message.token) return
        this.#task = null
        // First, so that what the end makes room for finds it free.
        this.#options.onFree(this)
        return task.done(message.outcome)
      }
      default:
        this.#options.say(message)
    }
  }

  #kill(why: string): void {
    if (this.#isGone) return
    // Deno lets go of a thread that is busy and does not end it: nobody waits for more than that.
    void this.#link.kill().finally(() => this.#gone(why))
  }

  #gone(why: string): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#takeBackBoot()
    this.#options.onGone(this)
    const task = this.#task
    this.#task = null
    const message = `The ${this.#options.kind} of its handler ${why}`
    task?.done(failed({ name: "HandlerLost", message, kind: "lost" }))
    this.#whenGone.resolve()
  }
}

type Open = (file: string, heard: (message: FromRoom) => void, gone: (why: string) => void) => Link

// Built for npm, this folder has JavaScript.
const program = new URL(import.meta.url.endsWith(".ts") ? "./roomMain.ts" : "./roomMain.js", import.meta.url)

const openThread: Open = (file, heard, gone) => {
  const thread = new Worker(program, { workerData: { file } })
  thread.on("message", heard)
  thread.on("error", (error: unknown) =>
    gone(`failed: ${error instanceof Error ? error.message : String(error)}`),
  )
  thread.on("exit", (code) => gone(`ended with code ${code}`))
  return { post: (message) => thread.postMessage(message), kill: () => thread.terminate() }
}

const openProcess: Open = (file, heard, gone) => {
  const child = fork(fileURLToPath(program), [file])
  const exited = new Promise<void>((resolve) => {
    child.on("exit", (code, signal) => {
      gone(signal === null ? `ended with code ${code}` : `was ended by ${signal}`)
      resolve()
    })
    child.on("error", (error) => {
      gone(`failed: ${error.message}`)
      resolve()
    })
  })
  child.on("message", (message) => heard(message as FromRoom))
  return {
    // One that has just ended cannot be told anything; its end is on the way.
    post: (message) => void (child.connected && child.send(message, () => {})),
    kill: () => {
      child.kill("SIGKILL")
      return exited
    },
  }
}
