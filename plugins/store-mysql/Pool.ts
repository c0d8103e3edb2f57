// A pool of connections in which nothing is trusted after it broke: one that was lost, was silent for too long, lay idle
// or is old is thrown away. After a failure to connect, callers hear at once what the last one heard, until it is time for
// the next try: a server that comes back is not run over.
import { refusal } from "uhrwerk/sql"

/** What the pool must know of a connection. */
export interface Pooled {
  /** `false` once it was lost: nothing is sent on it any more. */
  readonly isAlive: boolean
  /** Ends it at once; what waits for an answer on it is rejected. */
  destroy(): void
  /** Ends it in order. */
  end(): Promise<void>
}

/** How many connections, and how long each may live and lie idle; times in milliseconds. */
export interface PoolOptions {
  readonly connectionsMax: number
  readonly idleMillis: number
  readonly ageMillis: number
  /** How many callers may wait for a connection. */
  readonly waitingMax: number
  /** After a failure to connect, how long until the next try; doubled with each, up to the second of them. */
  readonly retryMillis: readonly [number, number]
}

interface Slot<P> {
  readonly connection: P
  readonly madeAt: number
  idle: ReturnType<typeof setTimeout> | undefined
}

/** Told which connection is its own, or that it may open one. */
interface Waiting<P> {
  readonly give: (slot: Slot<P> | undefined) => void
  readonly refuse: (error: Error) => void
}

/** The connections of a store. */
export class Pool<P extends Pooled> {
  private readonly options: PoolOptions
  private readonly make: () => Promise<P>
  private readonly idle: Array<Slot<P>> = []
  private readonly inUse = new Set<Slot<P>>()
  private readonly waiting: Array<Waiting<P>> = []
  /** Connections that there are, idle ones too, or that are being opened. */
  private count = 0
  private failures = 0
  private failed: { readonly error: unknown; readonly until: number } | undefined
  private isClosed = false
  private onEmpty: () => void = () => {}

  /** `make` opens a connection that is ready for statements. */
  constructor(options: PoolOptions, make: () => Promise<P>) {
    this.options = options
    this.make = make
  }

  /** Uses a connection alone; callers get one in the order in which they asked. */
  async use<A>(body: (connection: P) => Promise<A>): Promise<A> {
    const given = await this.take()
    let slot = given
    try {
      slot ??= await this.open()
      this.inUse.add(slot)
      return await body(slot.connection)
    } finally {
      this.giveBack(slot)
    }
  }

  /** Forgets a connection that was lost while it lay idle. */
  forget(connection: P): void {
    const place = this.idle.findIndex((slot) => slot.connection === connection)
    if (place >= 0) void this.drop(this.idle[place] as Slot<P>)
  }

  /** Refuses all that wait, and closes all connections; those in use have five seconds to end. */
  async close(): Promise<void> {
    this.isClosed = true
    for (const { refuse } of this.waiting.splice(0)) refuse(closedError())
    const ended = [...this.idle].map((slot) => this.drop(slot))
    if (this.count > 0) {
      let late: ReturnType<typeof setTimeout> | undefined
      await new Promise<void>((resolve) => {
        this.onEmpty = resolve
        late = setTimeout(resolve, closeMillis)
      })
      clearTimeout(late)
      for (const { connection } of this.inUse) connection.destroy()
    }
    await Promise.all(ended)
  }

  /** One that is there, or `undefined` for the leave to open one. */
  private take(): Promise<Slot<P> | undefined> {
    if (this.isClosed) return Promise.reject(closedError())
    // The one that was used last: the others may fall idle.
    const slot = this.idle.pop()
    if (slot !== undefined) {
      clearTimeout(slot.idle)
      return Promise.resolve(slot)
    }
    const { connectionsMax, waitingMax } = this.options
    if (this.count < connectionsMax) {
      this.count++
      return Promise.resolve(undefined)
    }
    if (this.waiting.length >= waitingMax)
      return Promise.reject(refusal(`connection: ${waitingMax} calls wait for one of ${this.count} already`))
    return new Promise((give, refuse) => this.waiting.push({ give, refuse }))
  }

  private async open(): Promise<Slot<P>> {
    if (this.failed !== undefined && performance.now() < this.failed.until) throw this.failed.error
    try {
      const connection = await this.make()
      this.failures = 0
      this.failed = undefined
      return { connection, madeAt: performance.now(), idle: undefined }
    } catch (error) {
      const [first, most] = this.options.retryMillis
      const delay = Math.min(first * 2 ** this.failures++, most) * (0.5 + Math.random() / 2)
      this.failed = { error, until: performance.now() + delay }
      throw error
    }
  }

  private giveBack(slot: Slot<P> | undefined): void {
    if (slot !== undefined) this.inUse.delete(slot)
    const usable = slot !== undefined && this.isUsable(slot) ? slot : undefined
    if (usable === undefined && slot !== undefined) void slot.connection.end().catch(() => {})
    const next = this.waiting.shift()
    if (next !== undefined) return next.give(usable)
    if (usable === undefined) {
      if (--this.count === 0) this.onEmpty()
      return
    }
    usable.idle = setTimeout(() => void this.drop(usable), this.options.idleMillis)
    this.idle.push(usable)
  }

  private isUsable({ connection, madeAt }: Slot<P>): boolean {
    return connection.isAlive && !this.isClosed && performance.now() - madeAt <= this.options.ageMillis
  }

  /** Closes an idle one. */
  private async drop(slot: Slot<P>): Promise<void> {
    clearTimeout(slot.idle)
    this.idle.splice(this.idle.indexOf(slot), 1)
    this.count--
    await slot.connection.end().catch(() => {})
  }
}

// How long those in use have to end when the store is closed.
const closeMillis = 5000

const closedError = (): Error => refusal("connection: the store is closed")
