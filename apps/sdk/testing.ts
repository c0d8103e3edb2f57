// The entry `uhrwerk/testing`: the real engine on a clock that moves only when told, over a store in memory; and
// the contract kit for authors of adapters.
import * as Result from "effect/Result"
import { parseInstant, parseSpan, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import { makeVirtualTime } from "../../core/engine/VirtualTime.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import type { Config } from "./config.ts"
import { checkConfig } from "./config.ts"
import { type RunningEngine, startProject } from "./engine.ts"

export * from "../../core/testing.ts"
export { registerCases, type TestFunction } from "./registerCases.ts"

/** An engine in virtual time. */
export interface TestEngine extends RunningEngine {
  /** The virtual instant. */
  readonly now: () => Date
  /**
   * Moves time forward by this span, instant by instant, and lets everything happen that falls into it.
   * Handlers that wait for something outside (a file, a socket) are waited for in real time, at most `realMax`
   * in all (default 5 s); one that still waits then is left behind, as a slow one would be.
   */
  readonly advance: (span: TimeSpan, options?: { readonly realMax?: TimeSpan }) => Promise<void>
  /** Everything that happened so far. */
  readonly events: ReadonlyArray<EngineEvent>
}

/** How to start one. */
export interface TestOptions {
  /** The instant at which time begins; default 2026-01-01T00:00:00Z. */
  readonly startAt?: Date | number | string
  /** Hears each event as it happens. */
  readonly onEvent?: (event: EngineEvent) => void
  /** `false`: `events` stays empty, so that a year of a busy project fits into memory. Default `true`. */
  readonly keepEvents?: boolean
}

/**
 * Starts the config's engine in virtual time, with a store in memory unless the config has an object as its
 * storage. Hints and wheel do their work as always; only polls and leases are slower, to keep a year short.
 */
export const testEngine = async (config: Config, options: TestOptions = {}): Promise<TestEngine> => {
  const time = makeVirtualTime(
    Result.getOrThrow(parseInstant("startAt", options.startAt ?? "2026-01-01T00:00:00Z")),
  )
  const storage = typeof config.storage === "object" ? config.storage : "memory:"
  const project = {
    ...(await checkConfig({ ...config, storage })),
    pollMillis: 3_600_000,
    leaseMillis: 86_400_000,
  }
  const events: Array<EngineEvent> = []
  const engine = await startProject(project, {
    guard: false,
    context: time.context,
    handlerContext: time.handlerContext,
    onEvent: (event) => {
      if (options.keepEvents !== false) events.push(event)
      options.onEvent?.(event)
    },
  })

  // All work of this instant is done when a turn of the event loop passes and no handler is under way, but for
  // those that wait for a later instant themselves.
  const settle = async (until: number): Promise<void> => {
    do await turn()
    while (engine.load().carried > time.sleeping() && performance.now() < until)
  }
  const stop: RunningEngine["stop"] = async (stopOptions) => {
    const state = { stopped: false }
    const stopping = engine.stop(stopOptions).finally(() => {
      state.stopped = true
    })
    // A grace period passes in virtual time too, or nobody would ever see its end.
    for (await turn(); !state.stopped; await turn())
      if (Number.isFinite(time.nextAt())) time.moveTo(time.nextAt())
    await stopping
  }
  return {
    ...engine,
    stop,
    events,
    now: () => new Date(time.now()),
    advance: async (span, { realMax = "5s" } = {}) => {
      const target = time.now() + Result.getOrThrow(parseSpan("advance", span))
      const until = performance.now() + Result.getOrThrow(parseSpan("realMax", realMax))
      await settle(until)
      for (let next = time.nextAt(); next <= target; next = time.nextAt()) {
        time.moveTo(next)
        await settle(until)
      }
      time.moveTo(target)
      await settle(until)
    },
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
