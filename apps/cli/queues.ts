// `uhrwerk queue list | pause | resume`: what waits in the queues of a store, and letting one rest. Engines that run on it
// follow within two seconds.
import * as Effect from "effect/Effect"
import { contextDriver, type Store } from "../../core/ports/Store.ts"
import type { QueueDepth, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { noteMax, pauseQueue, type PausedQueue, resumeQueue } from "../../core/run/PausedQueues.ts"
import { checkConfig } from "../sdk/config.ts"
import { pausedQueues } from "../sdk/orders.ts"
import { UsageError } from "./errors.ts"
import { dateOf, isTable, plain, printAnswer, printRows, spanOf } from "./format.ts"
import { findConfig, loadConfig } from "./loadConfig.ts"
import { type Command, type Flags, none, only, saidStorage, storeCommand } from "./open.ts"

interface Line extends QueueDepth {
  readonly paused: Omit<PausedQueue, "queue"> | null
}

/** The commands by their words. */
export const queueCommands: Readonly<Record<string, Command>> = {
  "queue list": storeCommand(
    "queue list",
    "queues: what waits, for how long, what runs, what is paused",
    async (store, args, flags) => {
      none(args)
      const [depths, paused, now, own] = [
        await store.queueDepths(),
        await pausedQueues(store),
        await store.now(),
        await queuesOfConfig(flags),
      ]
      const byName = new Map(depths.map((depth) => [depth.queue, depth]))
      const lines = [...new Set([...own, ...byName.keys(), ...paused.keys()])]
        .toSorted()
        .map((queue): Line => {
          const { note, by, at } = paused.get(queue) ?? {}
          return {
            ...(byName.get(queue) ?? { queue, ready: 0, oldestDueAt: null, running: 0 }),
            paused: at === undefined ? null : { note: note ?? null, by: by ?? null, at },
          }
        })
      printRows(flags, lines, {
        queue: (row: Line) => row.queue,
        ready: (row: Line) => String(row.ready),
        oldest: (row: Line) => (row.oldestDueAt === null ? "-" : spanOf(Math.max(0, now - row.oldestDueAt))),
        running: (row: Line) => String(row.running),
        paused: (row: Line) =>
          row.paused === null
            ? "-"
            : `since ${dateOf(row.paused.at)}${row.paused.note === null ? "" : `: ${row.paused.note}`}`,
      })
      if (lines.length === 0 && isTable(flags))
        console.error("No queue: no config is here, nothing waits, and none is paused.")
    },
  ),
  "queue pause": storeCommand(
    "queue pause NAME [--note TEXT]",
    "start nothing of it; what runs goes on, what waits stays",
    async (store, args, flags) => {
      const queue = only(args, "queue's name")
      const { note = null } = flags
      if (note !== null && (note === "" || note.length > noteMax))
        throw new UsageError(`--note has ${note.length} characters; give 1 to ${noteMax}`)
      const before = (await pausedQueues(store)).get(queue)
      const known = await isKnown(store, queue, flags)
      const { at } = await run(store, pauseQueue(queue, note, null))
      const since = before === undefined ? "" : ` It was paused already, since ${dateOf(before.at)}.`
      console.error(
        `Nothing of queue ${plain(queue)} starts any more; engines on this store follow within two seconds.${since}`,
      )
      if (!known)
        console.error("No job of the config here has this queue, and nothing is in it: is the name right?")
      printAnswer(flags, { queue, paused: { note, by: null, at } }, `${plain(queue)} paused`)
    },
  ),
  "queue resume": storeCommand("queue resume NAME", "let it go on", async (store, args, flags) => {
    const queue = only(args, "queue's name")
    const wasPaused = await run(store, resumeQueue(queue))
    console.error(
      wasPaused
        ? `Queue ${plain(queue)} goes on; engines on this store follow within two seconds.`
        : `Queue ${plain(queue)} was not paused.`,
    )
    printAnswer(flags, { queue, paused: null }, `${plain(queue)} resumed`)
  }),
}

const run = <A, E>(store: StoreDriver, effect: Effect.Effect<A, E, Store>): Promise<A> =>
  Effect.runPromise(Effect.provide(effect, contextDriver(store)))

const isKnown = async (store: StoreDriver, queue: string, flags: Flags): Promise<boolean> => {
  const own = await queuesOfConfig(flags)
  return own.has(queue) || (await store.queueDepths()).some((depth) => depth.queue === queue)
}

// Of a store that was named, this folder's config says nothing.
const queuesOfConfig = async (flags: Flags): Promise<ReadonlySet<string>> => {
  if (saidStorage(flags) !== undefined || findConfig() === undefined) return new Set()
  const { book } = await checkConfig(await loadConfig(undefined))
  return new Set([...book.jobs.values()].map(({ queue }) => queue))
}
