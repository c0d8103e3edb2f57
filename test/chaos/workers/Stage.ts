// A server and workers of a chaos run without its plan: for scenarios that are told step by step.
import { join } from "node:path"
import type { Run } from "../../../core/domain/Run.ts"
import type { Terms } from "../../../core/protocol/Terms.ts"
import type { WorkerView } from "../../../core/worker/WorkerView.ts"
import { type Child, eventually, inFolder, root, type RuntimeName, type Start } from "../children.ts"
import { filesOf, type Mode, readLines } from "../evidence.ts"
import { Proxy } from "../postgres/Proxy.ts"
import type { WorkerLine } from "./evidence.ts"
import { jobName } from "./project.ts"

const here = (file: string): string => join(root, "test/chaos/workers", file)

/** How its server differs from one that is told nothing. */
export interface StageOptions {
  readonly terms?: Partial<Terms>
  readonly leaseMillis?: number
}

/** A line of a start in the handlers' log. */
export type StartLine = Extract<WorkerLine, { kind: "start" }>

/** One server over SQLite, with a proxy before it. */
export class Stage {
  readonly folder: string
  readonly proxy: Proxy
  private readonly start: Start
  private readonly options: StageOptions
  server: Child | undefined

  private constructor(folder: string, start: Start, proxy: Proxy, options: StageOptions) {
    this.folder = folder
    this.start = start
    this.proxy = proxy
    this.options = options
  }

  /** Runs `body` with one in a folder of its own; all processes end with it. */
  static async with(body: (stage: Stage) => Promise<void>, options: StageOptions = {}): Promise<void> {
    await inFolder(async (folder, start) => {
      const stage = new Stage(folder, start, await Proxy.open(0, { losesEnds: true }), options)
      try {
        await stage.beginServer()
        await body(stage)
      } finally {
        await stage.proxy.close()
      }
    })
  }

  /** Starts the server, for the first time or again. */
  async beginServer(): Promise<void> {
    const args = [`sqlite:${filesOf(this.folder).db}`, this.folder, JSON.stringify(this.options)]
    const server = this.start("node", [here("server.child.ts"), ...args])
    this.server = server
    await server.until(/listens on \S+/, 30_000)
    this.proxy.leadTo(Number(/listens on \S+:(\d+)/.exec(server.output())?.[1]))
  }

  /** Where workers connect. */
  get workerUrl(): string {
    return `ws://127.0.0.1:${this.proxy.port}/v1/worker`
  }

  /** Starts a worker. */
  worker(name: string, slots: number, runtime: RuntimeName = "node"): Child {
    return this.start(runtime, [
      here("worker.child.ts"),
      this.workerUrl,
      name,
      String(slots),
      "0",
      this.folder,
    ])
  }

  /** Sends a run of the job; answers its id. */
  async send(mode: Mode, millis: number): Promise<string> {
    return this.sendJob(jobName, { mode, millis })
  }

  /** Sends a run of any job. */
  async sendJob(job: string, input: unknown): Promise<string> {
    const answer = await fetch(`${this.http}/v1/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ job, input }),
    })
    if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`)
    return ((await answer.json()) as { readonly id: string }).id
  }

  /** A run as the server has it. */
  async run(id: string): Promise<Omit<Run, "input" | "output"> & { readonly output: unknown }> {
    return (await (await fetch(`${this.http}/v1/runs/${id}`)).json()) as never
  }

  /** Waits until these runs have ended in this state. */
  async allEnd(
    ids: ReadonlyArray<string>,
    state: Run["state"] = "succeeded",
    millis = 60_000,
  ): Promise<void> {
    await eventually(
      `${ids.length} runs are ${state}`,
      async () => {
        for (const id of ids)
          if ((await this.run(id).catch(() => undefined))?.state !== state) return undefined
        return true
      },
      millis,
    )
  }

  /** The workers as the server sees them. */
  async views(): Promise<ReadonlyArray<WorkerView>> {
    const answer = await fetch(`${this.http}/v1/workers?limit=200`)
    return ((await answer.json()) as { readonly items: ReadonlyArray<WorkerView> }).items
  }

  /** What handlers have begun so far. */
  starts(): ReadonlyArray<StartLine> {
    return readLines<WorkerLine>(filesOf(this.folder).effects).filter((line) => line.kind === "start")
  }

  /** Waits until so many starts are written that `fits`. */
  async started(
    count: number,
    fits: (line: StartLine) => boolean = () => true,
    millis = 30_000,
  ): Promise<ReadonlyArray<StartLine>> {
    return eventually(
      `${count} starts`,
      () => {
        const found = this.starts().filter(fits)
        return found.length >= count ? found : undefined
      },
      millis,
    )
  }

  // Past what the proxy may lose: it is about workers.
  private get http(): string {
    return `http://127.0.0.1:${this.proxy.leadsTo}`
  }
}
