// The server of a chaos run and its workers, each worker behind a proxy, and what can be done to them. Every signal goes to
// the pid of a process that was started here.
import { execFile } from "node:child_process"
import { appendFileSync, existsSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import type { WorkerView } from "../../../core/worker/WorkerView.ts"
import { type Child, hasPython, pause, type ProgramName, root, runtimes, type Start } from "../children.ts"
import { Proxy } from "../postgres/Proxy.ts"
import type { Incident, Life, Story } from "./evidence.ts"
import { type Fault, isOfServer, workerCount } from "./plan.ts"
import { graceMillis } from "./project.ts"

/** How a fleet is made. */
export interface FleetOptions {
  readonly folder: string
  readonly start: Start
  /** As a config has it. */
  readonly storage: string
  readonly say: (line: string) => void
}

const here = (file: string): string => join(root, "test/chaos/workers", file)
// As long as a worker may wait before it connects again, and a little.
const busyMillis = 35_000
const acknowledgedMillis = 300
const longMillis = 3_600_000

/** One place for a process, in which one comes after another. */
interface Seat {
  readonly name: string
  readonly runtime: ProgramName
  /** The process that lives here, if any, and since when. */
  life: Child | undefined
  begunAt: number
  /** One fault at a time: this one is not over yet. */
  isInHand: boolean
  /** Its process ends because it was told to. */
  isEnding: boolean
}

interface WorkerSeat extends Seat {
  readonly proxy: Proxy
  readonly slots: number
  readonly prefetch: number
}

const wanted: ReadonlyArray<ProgramName> = ["node", "bun", "deno", "python"]
const isThere = (runtime: ProgramName): boolean =>
  runtime === "python" ? hasPython : runtimes.includes(runtime)

const seatOf = (name: string, runtime: ProgramName): Seat => ({
  name,
  runtime: isThere(runtime) ? runtime : "node",
  life: undefined,
  begunAt: 0,
  isInHand: false,
  isEnding: false,
})

/** One server and four workers. */
export class Fleet {
  readonly incidents: Array<Incident> = []
  readonly lives: Array<Life> = []
  readonly badStops: Array<string> = []
  readonly memory: Array<{ first: number; most: number; last: number }> = []
  private readonly options: FleetOptions
  private readonly server = seatOf("server", "node")
  private readonly workers: ReadonlyArray<WorkerSeat>
  private readonly client: Proxy
  private port = 0

  private constructor(options: FleetOptions, proxies: ReadonlyArray<Proxy>, client: Proxy) {
    this.options = options
    this.client = client
    this.workers = proxies.map((proxy, place) => ({
      ...seatOf(`worker-${place}`, wanted[place] ?? "node"),
      proxy,
      slots: 8,
      prefetch: place === 0 ? 2 : 0,
    }))
  }

  /** Starts all. */
  static async open(options: FleetOptions): Promise<Fleet> {
    const proxies = Array.from({ length: workerCount }, () => Proxy.open(0, { losesEnds: true }))
    const fleet = new Fleet(options, await Promise.all(proxies), await Proxy.open(0))
    await fleet.beginServer()
    for (const seat of fleet.workers) fleet.beginWorker(seat)
    await fleet.allUp()
    return fleet
  }

  /** Of the HTTP API, wherever the server is. */
  get url(): string {
    return `http://127.0.0.1:${this.client.port}`
  }

  get slots(): number {
    return this.workers.reduce((sum, { slots }) => sum + slots, 0)
  }

  /** The workers as the server sees them; rejects while there is no server. */
  async views(): Promise<ReadonlyArray<WorkerView>> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/v1/workers?limit=200`, {
      signal: AbortSignal.timeout(3000),
    })
    return ((await answer.json()) as { readonly items: ReadonlyArray<WorkerView> }).items
  }

  /** Waits until every worker is alive in the server's eyes. */
  async allUp(millis = 90_000): Promise<void> {
    const until = performance.now() + millis
    for (;;) {
      const views = await this.views().catch((): ReadonlyArray<WorkerView> => [])
      const alive = new Set(views.flatMap(({ name, status }) => (status === "alive" ? [name] : [])))
      if (this.workers.every(({ name, life }) => life !== undefined && alive.has(name))) return
      if (performance.now() > until) throw new Error(`Not all workers are there within ${millis} ms`)
      await pause(100)
    }
  }

  /** Waits until what a fault is meant for is not in the hands of another; takes the next worker if that is free before. */
  async take(fault: Fault): Promise<Seat> {
    for (;;) {
      if (isOfServer(fault.kind)) {
        if (!this.server.isInHand) return this.server
      } else {
        const places = Array.from({ length: workerCount }, (_, place) => (fault.worker + place) % workerCount)
        const free = places.flatMap((place) => this.workers[place] ?? []).filter(({ isInHand }) => !isInHand)
        // One is always left in peace, or it would be a test of the patience of whoever waits.
        if (free.length > 1 && free[0] !== undefined) return free[0]
      }
      await pause(50)
    }
  }

  /** Waits until the worker has something in hand, or a fault would show nothing; not for ever, as it is one if it has not. */
  private async busy({ name }: Seat): Promise<void> {
    const until = performance.now() + busyMillis
    while (performance.now() < until) {
      const view = await this.views().then(
        (views) => views.find((each) => each.name === name),
        () => undefined,
      )
      // What has just begun may not be acknowledged yet, and proves nothing.
      if (view?.status === "alive" && view.inHand > 1) return pause(acknowledgedMillis)
      await pause(50)
    }
  }

  /** Does it, and waits until it is over. */
  async strike(fault: Fault, seat: Seat): Promise<void> {
    seat.isInHand = true
    if (seat !== this.server) await this.busy(seat)
    const from = Date.now()
    const pid = seat.life?.pid ?? null
    const worker = seat === this.server ? null : seat.name
    const { way, side, delayMillis } = fault
    const what = await (worker === null ? this.toServer(fault) : this.toWorker(fault, seat as WorkerSeat))
    seat.isInHand = false
    const { kind } = fault
    this.incidents.push({ kind, worker, pid, from, to: Date.now(), way, side, delayMillis, what })
    this.options.say(what)
  }

  /** Asks all workers to stop, then the server, and waits for their ends. */
  async stopAll(): Promise<void> {
    await Promise.all(this.workers.map((seat) => this.stop(seat)))
    await this.stop(this.server)
    await Promise.all([...this.workers.map(({ proxy }) => proxy.close()), this.client.close()])
  }

  /** Ends everything at once: for whoever gives up. */
  killAll(): void {
    for (const { life } of [this.server, ...this.workers]) {
      life?.signal("SIGKILL")
    }
  }

  /** Looks at the server's memory. */
  async weigh(): Promise<void> {
    const pid = this.server.life?.pid
    const last = this.memory.at(-1)
    if (pid === undefined || last === undefined) return
    const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)])
    const mib = Number(stdout) / 1024
    if (!(mib > 0) || this.server.life?.pid !== pid) return
    if (last.first === 0) last.first = mib
    last.most = Math.max(last.most, mib)
    last.last = mib
  }

  /** What is left to judge. */
  evidence(): Pick<Story, "incidents" | "lives" | "memory" | "badStops"> {
    const { incidents, lives, badStops } = this
    return { incidents, lives, badStops, memory: this.memory.filter(({ most }) => most > 0) }
  }

  private async toServer({ kind, millis }: Fault): Promise<string> {
    if (kind === "killServer") {
      this.server.isEnding = true
      this.server.life?.signal("SIGKILL")
      await this.end(this.server)
    } else await this.stop(this.server)
    await pause(millis)
    await this.beginServer()
    return `${kind === "killServer" ? "kill -9" : "SIGTERM"} of the server, again after ${millis} ms`
  }

  private async toWorker(fault: Fault, seat: WorkerSeat): Promise<string> {
    const { kind, millis, delayMillis, way, reset, side } = fault
    const { name, proxy } = seat
    const spell = async (begin: () => void, end: () => void = () => proxy.heal(reset)): Promise<void> => {
      begin()
      await pause(millis)
      end()
    }
    const after = reset ? "then reset" : "then all at once"
    switch (kind) {
      case "killWorker":
        seat.isEnding = true
        seat.life?.signal("SIGKILL")
        await this.end(seat)
        await pause(millis)
        this.beginWorker(seat)
        return `kill -9 of "${name}", again after ${millis} ms`
      case "stopWorker":
        await this.stop(seat)
        await pause(millis)
        this.beginWorker(seat)
        return `SIGTERM of "${name}", again after ${millis} ms`
      case "freeze":
        await spell(
          () => seat.life?.signal("SIGSTOP"),
          () => seat.life?.signal("SIGCONT"),
        )
        return `SIGSTOP of "${name}" for ${millis} ms`
      case "cut":
        await spell(() => proxy.cut())
        return `the way of "${name}" cut for ${millis} ms`
      case "oneWay":
        await spell(() => proxy.lose(way))
        return `the way of "${name}" loses what goes ${way === "toServer" ? "there" : "back"} for ${millis} ms, ${after}`
      case "blackHole":
        await spell(() => proxy.lose("both"))
        return `the way of "${name}" loses everything for ${millis} ms, ${after}`
      case "halfOpen":
        await spell(
          () => proxy.halfClose(side),
          () => proxy.heal(),
        )
        return `a connection of "${name}" ended so that only the ${side === "server" ? "server" : "worker"} knows`
      case "slow":
        await spell(() => proxy.slow(delayMillis))
        return `the way of "${name}" ${delayMillis} ms slow for ${millis} ms`
      default:
        throw new Error(`"${kind}" is nothing that is done to a worker`)
    }
  }

  private async beginServer(): Promise<void> {
    const { folder, storage, start } = this.options
    const life = start("node", [here("server.child.ts"), storage, folder])
    Object.assign(this.server, { life, begunAt: Date.now(), isEnding: false })
    this.memory.push({ first: 0, most: 0, last: 0 })
    void this.watch(this.server, life, () => this.beginServer())
    await life.until(/listens on \S+/, 30_000)
    this.port = Number(/listens on \S+:(\d+)/.exec(life.output())?.[1])
    for (const { proxy } of this.workers) proxy.leadTo(this.port)
    this.client.leadTo(this.port)
  }

  private beginWorker(seat: WorkerSeat): void {
    const { folder, start } = this.options
    const url = `ws://127.0.0.1:${seat.proxy.port}/v1/worker`
    const args = [url, seat.name, String(seat.slots), String(seat.prefetch), folder]
    const life =
      seat.runtime === "python"
        ? start("python", [here("worker.py"), ...args, String(graceMillis)])
        : start(seat.runtime, [here("worker.child.ts"), ...args])
    Object.assign(seat, { life, begunAt: Date.now(), isEnding: false })
    void this.watch(seat, life, () => this.beginWorker(seat))
  }

  /** As a supervisor of processes does: what ended by itself is started again, and written down. */
  private async watch(seat: Seat, life: Child, again: () => void | Promise<void>): Promise<void> {
    const end = await life.ended(longMillis).catch(() => undefined)
    if (end === undefined || seat.life !== life || seat.isEnding) return
    await this.end(seat)
    this.badStops.push(`"${seat.name}", process ${life.pid}, ended by itself with ${end}:\n${tailOf(life)}`)
    await pause(500)
    if (seat.life === undefined && !seat.isEnding) await again()
  }

  /** SIGTERM: a process ends by itself, with 0. */
  private async stop(seat: Seat): Promise<void> {
    const { life } = seat
    seat.isEnding = true
    if (life === undefined) return
    // Before it has said so it does not hear the signal yet.
    const hears = await life.until(/listens|started/, 30_000).then(
      () => true,
      () => false,
    )
    if (hears) life.signal("SIGTERM")
    // What it carries may take its grace, and what it must tell may wait for a server that is away.
    const end = await life.ended(graceMillis + 30_000).catch((error: unknown) => String(error))
    if (end !== 0)
      this.badStops.push(
        `"${seat.name}", process ${life.pid}, was asked to stop and ended with ${end}:\n${tailOf(life)}`,
      )
    life.signal("SIGKILL")
    await this.end(seat)
  }

  /** Waits until the process is gone. */
  private async end(seat: Seat): Promise<void> {
    const { life, name, runtime, begunAt } = seat
    if (life === undefined) return
    await life.ended()
    seat.life = undefined
    if (seat !== this.server)
      this.lives.push({ worker: name, pid: life.pid, runtime, from: begunAt, to: Date.now() })
    // The folder may be gone with whoever gave up.
    if (!existsSync(this.options.folder)) return
    appendFileSync(join(this.options.folder, "processes.log"), `${name} ${life.pid}\n${life.output()}\n`)
  }
}

const tailOf = (life: Child): string => life.output().slice(-2000)

// Long enough for what a closed socket must lead to.
const quietMillis = 3000

/** Does all of a plan, each fault in its time, some of them at once. */
export const storm = async (fleet: Fleet, plan: ReadonlyArray<Fault>): Promise<void> => {
  const begunAt = performance.now()
  let under: Array<Promise<void>> = []
  for (const fault of plan) {
    await pause(Math.max(0, fault.notBefore - (performance.now() - begunAt)))
    if (fault.isAlone) {
      await Promise.all(under.splice(0))
      await fleet.allUp()
      // Workers that have just come are to have something in hand.
      await pause(2000)
    }
    const done = fleet.strike(fault, await fleet.take(fault))
    // Waited for later, but not unheard until then.
    done.catch(() => {})
    under.push(done)
    if (fault.isAlone) await Promise.all([done, pause(quietMillis)])
  }
  await Promise.all(under)
}
