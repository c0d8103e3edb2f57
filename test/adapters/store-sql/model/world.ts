// What a sequence of operations is made out of: names that come again and again, the ids that there are, that ended and
// that never were, and what nodes were told. All else that the makers of operations want to know, they ask the memory
// store, so that most operations do something.
import { runId } from "../../../../core/contract/Fixtures.ts"
import { isFinal, type NewRun, type Run } from "../../../../core/domain/Run.ts"
import type { ScheduleRow } from "../../../../core/domain/Schedule.ts"
import type { Expansion } from "../../../../core/domain/Flow.ts"
import type { StoreDriver } from "../../../../core/ports/StoreDriver.ts"
import type { Choice } from "../../../common/random.ts"
import type { Name, Operation } from "./operations.ts"

/** The names of jobs; runs of `flow` mostly expand. */
export const jobs = ["a", "b", "flow", "__proto__"] as const
export const queues = ["default", "slow"] as const
export const nodes = ["n1", "n2", "n3"] as const

/** What is made next: an operation without the move of the clock. */
export type Made = Omit<Operation, "moveMillis">

/** An operation of the port with its arguments, as the types want them. */
export const operation = <K extends Name>(name: K, ...args: Parameters<StoreDriver[K]>): Made => ({
  name,
  args,
  isRefused: false,
})

/** One that must be refused. */
export const refusedOne = <K extends Name>(name: K, ...args: Parameters<StoreDriver[K]>): Made => ({
  ...operation(name, ...args),
  isRefused: true,
})

/** What is there now. */
export type Seen = Pick<World, "now" | "runs" | "flows" | "letters" | "schedules" | "alive">

/** What is there now, as the makers of operations see it. */
export class World {
  readonly choice: Choice
  readonly now: number
  /** Newest first. */
  readonly runs: ReadonlyArray<Run>
  /** The runs that have expanded. */
  readonly flows: ReadonlyArray<Run>
  /** The runs with letters that were not replayed. */
  readonly letters: ReadonlyArray<string>
  readonly schedules: ReadonlyArray<ScheduleRow>
  /** Nodes whose lease holds. */
  readonly alive: ReadonlyArray<string>
  readonly memory: Memory

  constructor(choice: Choice, memory: Memory, seen: Seen) {
    this.choice = choice
    this.memory = memory
    this.now = seen.now
    this.runs = seen.runs
    this.flows = seen.flows
    this.letters = seen.letters
    this.schedules = seen.schedules
    this.alive = seen.alive
  }

  /** A run in one of these states, if there is one. */
  runIn(...states: ReadonlyArray<Run["state"]>): Run | undefined {
    const found = this.runs.filter(({ state }) => states.includes(state))
    return found.length === 0 ? undefined : this.choice.of(found)
  }

  /** The id of a run that is there, of one that was, or of one that never was. */
  anyId(): string {
    const { choice, memory } = this
    if (this.runs.length > 0 && choice.percent(90)) return choice.of(this.runs).id
    return choice.percent(50) && memory.ids.length > 0
      ? choice.of(memory.ids)
      : runId(choice.int(90_000, 99_999))
  }

  /** The id of a run that has expanded, or any. */
  flowId(): string {
    const { flows, choice } = this
    return flows.length > 0 && choice.percent(90) ? choice.of(flows).id : this.anyId()
  }

  /** An id that is not there. */
  newId(): string {
    const { memory, choice } = this
    // With gaps, out of which an id may come that sorts before others.
    memory.last += choice.int(1, 3)
    const [gap] = choice.percent(10) ? memory.gaps.splice(0, 1) : []
    const id = gap ?? runId(memory.last)
    if (gap === undefined) memory.gaps.push(runId(memory.last + 1_000_000))
    memory.ids.push(id)
    return id
  }

  /** An instant around now. */
  instant(before: number, after: number): number {
    return this.now + 100 * this.choice.int(-Math.floor(before / 100), Math.floor(after / 100))
  }

  newRun(fields: Partial<NewRun> = {}): NewRun {
    const { choice } = this
    return {
      id: this.newId(),
      job: choice.of(choice.percent(35) ? ["flow"] : jobs),
      queue: choice.percent(80) ? "default" : "slow",
      input: choice.percent(70) ? null : JSON.stringify(choice.int(0, 9)),
      dueAt: choice.percent(80) ? null : this.instant(5_000, 20_000),
      delayMillis: choice.percent(70) ? 0 : choice.of([1, 500, 2_000, 60_000]),
      priority: choice.percent(70) ? 0 : choice.int(-1, 1),
      attemptMax: choice.int(1, 3),
      key: choice.percent(85) ? null : choice.of(["k1", "k2"]),
      startWithinMillis: choice.percent(85) ? null : 100 * choice.int(0, 300),
      scheduleId: null,
      nominalAt: choice.percent(90) ? null : this.instant(5_000, 0),
      chainId: choice.percent(80) ? null : choice.of(["c1", "c2"]),
      needs: [],
      replayOf: null,
      parentId: null,
      step: null,
      ...fields,
    }
  }

  /** Runs that may be needed: most of those that have not ended, some that have. */
  needs(more: ReadonlyArray<string> = []): ReadonlyArray<string> {
    const open = this.runs.filter(({ state }) => !isFinal(state) || this.choice.percent(10))
    const needed = this.choice.some([...open.slice(0, 12).map(({ id }) => id), ...more], 3)
    return this.choice.percent(5) ? [...needed, ...needed] : needed
  }
}

/** What a sequence remembers from one operation to the next. */
export interface Memory {
  /** The number in the latest id. */
  last: number
  /** All ids that were ever used. */
  readonly ids: Array<string>
  readonly gaps: Array<string>
  /** Tokens that nodes were given, the oldest first. */
  readonly held: Array<{ readonly id: string; readonly token: number }>
  readonly expansions: Array<Expansion>
  /** What was made before. */
  readonly made: Array<Made>
  /** The clock has stepped back. */
  hasStepped: boolean
}

/** Looks at a store. */
export const seenOf = async (store: StoreDriver): Promise<Seen> => {
  const runs = await store.list({ limit: 200 })
  const flows: Array<Run> = []
  for (const run of runs) if ((await store.flowOf(run.id)) !== null) flows.push(run)
  const letters = (await store.deadLetters({ limit: 200 })).map(({ runId }) => runId)
  const now = await store.now()
  const alive = (await store.nodes()).filter(({ expiresAt }) => expiresAt > now).map(({ id }) => id)
  return { now, runs, flows, letters, schedules: await store.schedules(), alive }
}
