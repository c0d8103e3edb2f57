// Log lines and progress of handlers on their way to the server: collected, bounded, and slower than the server allows, so
// that a handler that talks much never costs its worker the connection. What is too much is counted, not kept.
import { linesMax } from "../../core/protocol/Limits.ts"
import type { Sent } from "../../core/protocol/Message.ts"
import { type AttemptKey, keyOf } from "../../core/protocol/Shapes.ts"
import { after, monotonic } from "./Time.ts"

/** A message of this kind. */
export type Report = Extract<Sent, { readonly type: "progress" | "log" }>

/** How long lines are collected, in milliseconds. */
export const collectMillis = 200
/** How many lines may wait, of all handlers together. */
export const waitingMax = 1_000
// Escaped for JSON, a character may take six bytes: this much fits a frame in any case.
const charactersMax = 100_000

interface Buffer {
  readonly attempt: AttemptKey
  readonly lines: Array<{ readonly at: number; readonly level: "info"; readonly text: string }>
  dropped: number
  progress: { readonly percent: number | null; readonly note: string | null } | null
}

/** What a collection is given. */
export interface ReportsOptions {
  readonly send: (report: Report) => void
  /** Whether the server reads now. */
  readonly canSend: () => boolean
  /** Lines that nobody will see. */
  readonly onDropped: (lines: number) => void
}

/** Collects what handlers say. */
export class Reports {
  readonly #options: ReportsOptions
  readonly #buffers = new Map<string, Buffer>()
  #waiting = 0
  #takeBack: (() => void) | null = null
  #perSecond = 0
  #allowance = 0
  #countedAt = monotonic()

  constructor(options: ReportsOptions) {
    this.#options = options
  }

  /**
   * How many messages a second the server takes beside acknowledgements and outcomes. Half of them are for reports: the
   * others are for heartbeats, and for outcomes that are told twice after a cut.
   */
  allow(messagesPerSecond: number, heartbeatMillis: number, isFresh: boolean): void {
    this.#perSecond = Math.max(0.1, (messagesPerSecond - 1000 / heartbeatMillis) / 2)
    // The server counts on over the connections of one session, and so is counted here.
    this.#allowance = isFresh ? this.#burst() : Math.min(this.#allowance, this.#burst())
  }

  log(attempt: AttemptKey, text: string): void {
    const buffer = this.#bufferOf(attempt)
    if (this.#waiting >= waitingMax) this.#makeRoom(buffer)
    buffer.lines.push({ at: Date.now(), level: "info", text })
    this.#waiting++
    if (buffer.lines.length >= linesMax) this.#flush(buffer)
    this.#arm()
  }

  progress(attempt: AttemptKey, percent: number | null, note: string | null): void {
    this.#bufferOf(attempt).progress = { percent, note }
    this.#arm()
  }

  /** The attempt ends: sends what may be sent, as nothing is taken of it after that. */
  end(attempt: AttemptKey): void {
    const key = keyOf(attempt)
    const buffer = this.#buffers.get(key)
    if (buffer === undefined) return
    // What cannot be sent any more is told with the last that can: the newest lines.
    const sendable = this.#options.canSend() ? Math.floor(this.#allowanceNow()) * linesMax : 0
    if (sendable > 0 && buffer.lines.length > sendable) {
      const tooMany = buffer.lines.length - sendable
      buffer.lines.splice(0, tooMany)
      buffer.dropped += tooMany
      this.#waiting -= tooMany
    }
    this.#flush(buffer)
    this.#buffers.delete(key)
    this.#waiting -= buffer.lines.length
    const lost = buffer.lines.length + buffer.dropped
    if (lost > 0) this.#options.onDropped(lost)
  }

  close(): void {
    this.#takeBack?.()
    this.#buffers.clear()
  }

  #bufferOf(attempt: AttemptKey): Buffer {
    const key = keyOf(attempt)
    let buffer = this.#buffers.get(key)
    if (buffer === undefined) {
      buffer = { attempt, lines: [], dropped: 0, progress: null }
      this.#buffers.set(key, buffer)
    }
    return buffer
  }

  /** The oldest line goes: of this attempt, or, where it has none, of the one that has most. */
  #makeRoom(own: Buffer): void {
    let victim = own
    if (own.lines.length === 0)
      for (const each of this.#buffers.values()) if (each.lines.length > victim.lines.length) victim = each
    victim.lines.shift()
    victim.dropped++
    this.#waiting--
  }

  #arm(): void {
    this.#takeBack ??= after(collectMillis, () => {
      this.#takeBack = null
      for (const [key, buffer] of Array.from(this.#buffers)) {
        this.#flush(buffer)
        // Whoever was served goes to the end, so that all are served in turn.
        this.#buffers.delete(key)
        if (buffer.lines.length > 0 || buffer.dropped > 0 || buffer.progress !== null)
          this.#buffers.set(key, buffer)
      }
      if (this.#buffers.size > 0) this.#arm()
    })
  }

  #flush(buffer: Buffer): void {
    const { run, attempt, token } = buffer.attempt
    const key = { run, attempt, token }
    while (buffer.lines.length > 0 && this.#spends()) {
      const lines = buffer.lines.splice(0, fitting(buffer.lines))
      this.#waiting -= lines.length
      const { dropped } = buffer
      buffer.dropped = 0
      this.#options.send({ type: "log", ...key, lines, ...(dropped === 0 ? {} : { dropped }) })
    }
    if (buffer.progress === null || !this.#spends()) return
    const { percent, note } = buffer.progress
    buffer.progress = null
    this.#options.send({ type: "progress", ...key, percent, ...(note === null ? {} : { note }) })
  }

  #burst(): number {
    return Math.max(1, this.#perSecond)
  }

  #allowanceNow(): number {
    const now = monotonic()
    const grown = this.#allowance + ((now - this.#countedAt) * this.#perSecond) / 1000
    this.#countedAt = now
    this.#allowance = Math.min(this.#burst(), grown)
    return this.#allowance
  }

  #spends(): boolean {
    if (!this.#options.canSend() || this.#allowanceNow() < 1) return false
    this.#allowance--
    return true
  }
}

/** How many of these lines fit one message. */
const fitting = (lines: Buffer["lines"]): number => {
  let characters = 0
  for (let count = 0; count < lines.length; count++) {
    characters += lines[count]?.text.length ?? 0
    if (count === linesMax || (count > 0 && characters > charactersMax)) return count
  }
  return lines.length
}
