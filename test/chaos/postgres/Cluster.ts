// The nodes of a chaos run: processes of the real engine over a server of their own, each behind a proxy, and what can
// be done to them. Every signal goes to the pid of a process that was started here.
import { appendFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import type { OwnServer } from "../../adapters/store-sql/postgres/ownServer.ts"
import { type Child, pause, root, type Start } from "../children.ts"
import type { Incident } from "./evidence.ts"
import { type Fault, type FaultKind, nodeCount } from "./plan.ts"
import { graceMillis } from "./project.ts"
import { Proxy } from "./Proxy.ts"

/** How a cluster is made. */
export interface ClusterOptions {
  readonly folder: string
  readonly server: OwnServer
  readonly start: Start
  readonly schedules: number
  readonly slots: number
  /** Past the proxies. */
  readonly store: StoreDriver
  readonly say: (line: string) => void
}

const longMillis = 3_600_000

/** One place for a node, in which one process comes after another. */
interface Seat {
  readonly proxy: Proxy
  /** The process that lives here, if any. */
  life: Child | undefined
  /** One fault at a time: this one is not over yet. */
  isInHand: boolean
  /** Its process ends because it was told to. */
  isEnding: boolean
}

/** Three nodes, the client's way to the database, and the database. */
export class Cluster {
  readonly incidents: Array<Incident> = []
  readonly pidOf = new Map<string, number>()
  readonly refused: Array<{ readonly pid: number; readonly id: string }> = []
  readonly badStops: Array<string> = []
  readonly clientUrl: string
  private readonly options: ClusterOptions
  private readonly seats: ReadonlyArray<Seat>
  private isDatabaseInHand = false
  private lives = 0

  private constructor(options: ClusterOptions, proxies: ReadonlyArray<Proxy>) {
    this.options = options
    this.seats = proxies.map((proxy) => ({ proxy, life: undefined, isInHand: false, isEnding: false }))
    this.clientUrl = this.urlOf(nodeCount)
  }

  /** Starts all nodes; the last one's clock is wrong from the beginning. */
  static async open(options: ClusterOptions): Promise<Cluster> {
    const proxies = Array.from({ length: nodeCount + 1 }, () => Proxy.open(options.server.port))
    const cluster = new Cluster(options, await Promise.all(proxies))
    for (let node = 0; node < nodeCount; node++) cluster.begin(node, node === nodeCount - 1 ? -90_000 : 0)
    await cluster.allUp()
    return cluster
  }

  /** Looks who is there, so that an id in the tables can be told its process later. */
  async look(): Promise<ReadonlySet<number>> {
    const { store } = this.options
    const [rows, now] = await Promise.all([store.nodes(), store.now()])
    for (const { id, pid } of rows) this.pidOf.set(id, pid)
    return new Set(rows.filter(({ expiresAt }) => expiresAt > now).map(({ pid }) => pid))
  }

  /** Waits until every node holds a lease. */
  async allUp(millis = 60_000): Promise<void> {
    const until = performance.now() + millis
    for (;;) {
      const alive = await this.look().catch(() => new Set<number>())
      if (this.seats.slice(0, nodeCount).every(({ life }) => life !== undefined && alive.has(life.pid)))
        return
      if (performance.now() > until) throw new Error(`Not all nodes are there within ${millis} ms`)
      await pause(100)
    }
  }

  /** Waits until what a fault is meant for is not in the hands of another; takes the next node if that is free before. */
  async take(fault: Fault): Promise<number> {
    for (;;) {
      if (fault.kind === "database") {
        if (!this.isDatabaseInHand) return fault.node
      } else if (fault.node === nodeCount) {
        if (this.seats[fault.node]?.isInHand === false) return fault.node
      } else {
        const places = Array.from({ length: nodeCount }, (_, place) => (fault.node + place) % nodeCount)
        const free = places.filter((place) => this.seats[place]?.isInHand === false)
        // One is always left in peace, or it would be a test of the patience of whoever waits.
        if (free.length > 1 && free[0] !== undefined) return free[0]
      }
      await pause(50)
    }
  }

  /** Does it, and waits until it is over. */
  async strike(fault: Fault, node: number): Promise<void> {
    const seat = this.seatOf(node)
    const isDatabase = fault.kind === "database"
    if (isDatabase) this.isDatabaseInHand = true
    else seat.isInHand = true
    const from = Date.now()
    const pid = isDatabase ? null : (seat.life?.pid ?? null)
    const what = await this[fault.kind](fault, node, seat)
    if (isDatabase) this.isDatabaseInHand = false
    else seat.isInHand = false
    this.note({ kind: fault.kind, pid, from, to: Date.now(), what })
  }

  /** Asks all nodes to stop, and waits for their ends. */
  async stopAll(): Promise<void> {
    await Promise.all(this.seats.map(async (seat) => seat.life !== undefined && this.stop(seat)))
    await Promise.all(this.seats.map(({ proxy }) => proxy.close()))
  }

  /** Ends everything at once: for whoever gives up. */
  killAll(): void {
    for (const { life } of this.seats) life?.signal("SIGKILL")
  }

  private async kill(fault: Fault, node: number, seat: Seat): Promise<string> {
    seat.isEnding = true
    seat.life?.signal("SIGKILL")
    await this.end(seat)
    await pause(fault.millis)
    this.begin(node, fault.skewMillis)
    return `kill -9 of node ${node}, again after ${fault.millis} ms${skewOf(fault)}`
  }

  private async freeze(fault: Fault, node: number, seat: Seat): Promise<string> {
    seat.life?.signal("SIGSTOP")
    await pause(fault.millis)
    seat.life?.signal("SIGCONT")
    return `SIGSTOP of node ${node} for ${fault.millis} ms`
  }

  private async terminate(fault: Fault, node: number, seat: Seat): Promise<string> {
    await this.stop(seat)
    await pause(fault.millis)
    this.begin(node, fault.skewMillis)
    return `SIGTERM of node ${node}, again after ${fault.millis} ms${skewOf(fault)}`
  }

  private async skew(fault: Fault, node: number, seat: Seat): Promise<string> {
    await this.terminate(fault, node, seat)
    return `node ${node} goes on with a clock ${fault.skewMillis} ms off`
  }

  private async database({ millis }: Fault): Promise<string> {
    await this.options.server.restart("immediate", () => pause(millis))
    return `pg_ctl stop -m immediate, again after ${millis} ms`
  }

  private async cut({ millis }: Fault, node: number, { proxy }: Seat): Promise<string> {
    proxy.cut()
    await pause(millis)
    proxy.heal()
    return `${wayOf(node)} cut for ${millis} ms`
  }

  private async delay({ millis, delayMillis }: Fault, node: number, { proxy }: Seat): Promise<string> {
    proxy.slow(delayMillis)
    await pause(millis)
    proxy.heal()
    return `${wayOf(node)} ${delayMillis} ms slow for ${millis} ms`
  }

  private async oneWay({ millis, way, reset }: Fault, node: number, { proxy }: Seat): Promise<string> {
    proxy.lose(way)
    await pause(millis)
    proxy.heal(reset)
    const after = reset ? "then reset" : "then all at once"
    return `${wayOf(node)} loses what goes ${way === "toServer" ? "there" : "back"} for ${millis} ms, ${after}`
  }

  private begin(node: number, skewMillis: number): void {
    const { folder, start, schedules, slots } = this.options
    const config = join(folder, `node-${node}-life-${++this.lives}.mjs`)
    const given = { folder, storage: this.urlOf(node), schedules, slots }
    const module = join(root, "test/chaos/postgres/project.ts")
    writeFileSync(
      config,
      `import { projectOf } from ${JSON.stringify(module)}\nexport default projectOf(${JSON.stringify(given)})\n`,
    )
    const life =
      skewMillis === 0
        ? start("node", [join(root, "apps/cli/main.ts"), "serve", config])
        : start("node", [join(root, "test/chaos/postgres/node.child.ts"), config, String(skewMillis)])
    const seat = this.seatOf(node)
    Object.assign(seat, { life, isEnding: false })
    void life.ended(longMillis).then(
      (end) => this.endedByItself(seat, life, end, node, skewMillis),
      () => {},
    )
  }

  /** As a supervisor of processes does: a node that found no database at its start is started again. */
  private async endedByItself(
    seat: Seat,
    life: Child,
    end: number | NodeJS.Signals,
    node: number,
    skewMillis: number,
  ): Promise<void> {
    if (seat.life !== life || seat.isEnding) return
    await this.end(seat)
    if (this.isKnown(life))
      this.badStops.push(`process ${life.pid} ended by itself with ${end}:\n${tailOf(life)}`)
    await pause(500)
    if (seat.life === undefined && !seat.isEnding) this.begin(node, skewMillis)
  }

  /** Whether it ever held a lease: before that its start may fail for want of a database. */
  private isKnown({ pid }: Child): boolean {
    return [...this.pidOf.values()].includes(pid)
  }

  /** SIGTERM: a node ends by itself, with 0. */
  private async stop(seat: Seat): Promise<void> {
    const { life } = seat
    seat.isEnding = true
    if (life === undefined) return
    // Before it has said so it does not hear the signal yet.
    const hears = await life.until(/storage/, 30_000).then(
      () => true,
      () => false,
    )
    if (hears) life.signal("SIGTERM")
    // What it carries may take its grace, and what it must write may wait for a database that is away.
    const end = await life.ended(graceMillis + 60_000)
    if (end !== 0 && this.isKnown(life))
      this.badStops.push(`process ${life.pid} was asked to stop and ended with ${end}:\n${tailOf(life)}`)
    await this.end(seat)
  }

  /** Waits until the process is gone, and keeps what it said of outcomes that were refused. */
  private async end(seat: Seat): Promise<void> {
    const { life } = seat
    if (life === undefined) return
    await life.ended()
    seat.life = undefined
    const { pid } = life
    for (const [, id = ""] of life
      .output()
      .matchAll(/the outcome came too late and was not applied {2}(\S+)/g))
      this.refused.push({ pid, id })
    appendFileSync(join(this.options.folder, "nodes.log"), life.output())
  }

  private urlOf(node: number): `postgres://${string}` {
    const url = new URL(this.options.server.url())
    url.port = String(this.seatOf(node).proxy.port)
    return url.toString() as `postgres://${string}`
  }

  private seatOf(node: number): Seat {
    const seat = this.seats[node]
    if (seat === undefined) throw new Error(`There is no node ${node}`)
    return seat
  }

  private note(incident: Incident): void {
    this.incidents.push(incident)
    this.options.say(incident.what)
  }
}

const tailOf = (life: Child): string => life.output().slice(-2000)
const skewOf = ({ skewMillis }: Fault): string => (skewMillis === 0 ? "" : `, its clock ${skewMillis} ms off`)
const wayOf = (node: number): string => `the way of ${node === nodeCount ? "the client" : `node ${node}`}`

/** Does all of a plan, each fault in its time, some of them at once. */
export const storm = async (
  cluster: Cluster,
  plan: ReadonlyArray<Fault>,
  quietMillis: number,
): Promise<void> => {
  const begunAt = performance.now()
  let under: Array<Promise<void>> = []
  for (const fault of plan) {
    await pause(Math.max(0, fault.notBefore - (performance.now() - begunAt)))
    if (fault.isAlone) {
      await Promise.all(under.splice(0))
      await cluster.allUp()
      // What was behind has caught up by now, and every lease has been renewed.
      await pause(2500)
    }
    const done = cluster.strike(fault, await cluster.take(fault))
    // Waited for later, but not unheard until then.
    done.catch(() => {})
    under.push(done)
    if (fault.isAlone) await Promise.all([done, pause(quietMillis)])
  }
  await Promise.all(under)
}

/** How often each was done. */
export const countsOf = (incidents: ReadonlyArray<Incident>): Partial<Record<FaultKind, number>> => {
  const counts: Partial<Record<FaultKind, number>> = {}
  for (const { kind } of incidents) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}
