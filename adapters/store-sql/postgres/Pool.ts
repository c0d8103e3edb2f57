// A pool of connections in which nothing is trusted after it broke: each connection is a client of its own, thrown away
// when it was lost, was silent for too long, or is old. postgres-js's own pool would open a lost connection again and
// go on sending on it, which can end the process when it breaks within a transaction.
import { refusal } from "../../../core/ports/StoreLimits.ts"

/** A client of one connection, as postgres-js makes it. */
export interface Client {
  unsafe(text: string, parameters?: Array<never>, options?: { readonly prepare: boolean }): Promise<unknown>
  end(options: { readonly timeout: number }): Promise<void>
}

/** One connection and what the pool knows of it. */
export interface Slot<C extends Client> {
  readonly client: C
  /** `false` once the connection was lost: nothing is sent on it any more. */
  isAlive: boolean
  readonly madeAt: number
  idle: ReturnType<typeof setTimeout> | undefined
}

/** How many connections, and how long each may live and lie idle. */
export interface PoolOptions {
  readonly connectionsMax: number
  readonly idleMillis: number
  readonly ageMillis: number
  /** How many callers may wait for a connection. */
  readonly waitingMax: number
}

/** The connections of a store. */
export class Pool<C extends Client> {
  private readonly options: PoolOptions
  private readonly make: (onLost: () => void) => C
  private readonly slots = new Set<Slot<C>>()
  private readonly idle: Array<Slot<C>> = []
  private readonly waiting: Array<{ give: (slot: Slot<C>) => void; refuse: (error: Error) => void }> = []
  private isClosed = false

  /** `make` makes a client of one connection, and calls `onLost` when that is gone. */
  constructor(options: PoolOptions, make: (onLost: () => void) => C) {
    this.options = options
    this.make = make
  }

  /** Uses a connection alone; callers get one in the order in which they asked. */
  async use<A>(body: (slot: Slot<C>) => Promise<A>): Promise<A> {
    const slot = await this.take()
    try {
      return await body(slot)
    } finally {
      this.giveBack(slot)
    }
  }

  /** Closes a connection that must not be used again; what waits for an answer on it is rejected. */
  discard(slot: Slot<C>): void {
    clearTimeout(slot.idle)
    slot.isAlive = false
    this.slots.delete(slot)
    const place = this.idle.indexOf(slot)
    if (place >= 0) this.idle.splice(place, 1)
    void slot.client.end({ timeout: 0 }).catch(() => {})
  }

  /** Refuses all that wait, and closes all connections; those in use have five seconds to end. */
  async close(): Promise<void> {
    this.isClosed = true
    for (const { refuse } of this.waiting.splice(0)) refuse(closedError())
    for (const { idle } of this.slots) clearTimeout(idle)
    await Promise.all(Array.from(this.slots, ({ client }) => client.end({ timeout: 5 })))
  }

  private take(): Promise<Slot<C>> {
    if (this.isClosed) return Promise.reject(closedError())
    // The one that was used last: the others may fall idle.
    const idle = this.idle.pop()
    if (idle !== undefined) {
      clearTimeout(idle.idle)
      return Promise.resolve(idle)
    }
    if (this.slots.size < this.options.connectionsMax) return Promise.resolve(this.add())
    if (this.waiting.length >= this.options.waitingMax)
      return Promise.reject(
        refusal(`connection: ${this.waiting.length} calls wait for one of ${this.slots.size} already`),
      )
    return new Promise((give, refuse) => this.waiting.push({ give, refuse }))
  }

  private add(): Slot<C> {
    const slot: Slot<C> = {
      client: this.make(() => this.discard(slot)),
      isAlive: true,
      madeAt: performance.now(),
      idle: undefined,
    }
    this.slots.add(slot)
    return slot
  }

  private giveBack(slot: Slot<C>): void {
    if (slot.isAlive && performance.now() - slot.madeAt > this.options.ageMillis) this.discard(slot)
    const next = this.waiting.shift()
    if (next !== undefined) return next.give(slot.isAlive ? slot : this.add())
    if (!slot.isAlive || this.isClosed) return
    slot.idle = setTimeout(() => this.discard(slot), this.options.idleMillis)
    this.idle.push(slot)
  }
}

const closedError = (): Error => refusal("connection: the store is closed")
