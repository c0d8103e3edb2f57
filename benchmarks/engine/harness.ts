// Starts the engine as a user does, by the SDK, and hears what it does: nothing that goes wrong stays unseen.
import { type Config, engine, type EngineEvent, type RunningEngine } from "../../apps/sdk/mod.ts"

/** What every measurement shares. */
export interface Harness {
  /** A path for a new file in the temporary folder. */
  readonly file: () => string
  /** Starts an engine with the SDK's defaults; `storage` may be another than the file. */
  readonly start: (
    config: Pick<Config, "jobs"> & {
      readonly storage: NonNullable<Config["storage"]>
      readonly slots: number
    },
    onEvent?: (event: EngineEvent) => void,
  ) => Promise<RunningEngine>
  /** Says on stderr what is going on. */
  readonly progress: (text: string) => void
  /** Stops what still runs: after an error an engine would keep the process alive. */
  readonly close: () => Promise<void>
  /** Everything that went wrong: the report carries it, and the exit code tells. */
  readonly troubles: Array<string>
}

/** Makes the harness over an existing folder. */
export const makeHarness = (folder: string, progress: (text: string) => void): Harness => {
  let files = 0
  const troubles: Array<string> = []
  const engines: Array<RunningEngine> = []
  return {
    file: () => `${folder}/${files++}.db`,
    close: async () => {
      for (const each of engines) await each.stop({ grace: 0 })
    },
    start: async ({ jobs, storage, slots }, onEvent) => {
      const started = await engine({ jobs, storage, worker: { concurrency: slots } }).start({
        onEvent: (event) => {
          if (event.kind === "trouble") troubles.push(`${event.doing}: ${event.error}`)
          else if (event.kind === "leaseLost" || event.kind === "stale") troubles.push(event.kind)
          else if (event.kind === "ended" && event.state !== "succeeded")
            troubles.push(`a run ended ${event.state}: ${event.error?.message}`)
          onEvent?.(event)
        },
      })
      engines.push(started)
      return started
    },
    progress,
    troubles,
  }
}
