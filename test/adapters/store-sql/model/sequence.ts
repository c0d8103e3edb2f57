// A random sequence of operations out of a seed, made while it runs on both stores: what comes next depends on what is
// there. The list that comes of it can be replayed without its seed.
import { Choice } from "../../../common/random.ts"
import * as access from "./access.ts"
import * as flows from "./flows.ts"
import type { Operation } from "./operations.ts"
import { refusal } from "./refusals.ts"
import { compareVisible, type Difference, type Pair, step, type Watch } from "./replay.ts"
import * as records from "./records.ts"
import * as runs from "./runs.ts"
import * as schedules from "./schedules.ts"
import { type Made, type Memory, seenOf, World } from "./world.ts"

/** An operation that was made before, as after an unknown outcome; the maker of `prune` minds the clock. */
const again = ({ choice, memory }: World): Made | null => {
  const latest = memory.made.slice(choice.percent(50) ? -5 : 0)
  const made = latest.filter(({ isRefused, name }) => !isRefused && name !== "prune")
  return made.length === 0 ? null : choice.of(made)
}

/** How often each is made, of about 185. */
const makers: ReadonlyArray<readonly [weight: number, make: (world: World) => Made | null]> = [
  [18, runs.enqueue],
  [26, runs.claim],
  [3, runs.started],
  [28, runs.settle],
  [3, runs.promote],
  [2, runs.dueWithin],
  [1, runs.carried],
  [3, runs.adopt],
  [5, runs.reclaim],
  [4, runs.cancel],
  [1, runs.get],
  [3, runs.list],
  [1, runs.counts],
  [1, runs.queueDepths],
  [1, runs.attempts],
  [2, runs.deadLetters],
  [3, runs.replay],
  [2, runs.drop],
  [3, runs.prune],
  [2, flows.stepInputs],
  [2, flows.flowOfRun],
  [8, flows.rerunFlow],
  [5, flows.markStep],
  [6, schedules.putSchedules],
  [1, schedules.allSchedules],
  [1, schedules.deleteSchedules],
  [3, schedules.pauseSchedule],
  [3, schedules.dueSchedules],
  [1, schedules.nextScheduleAt],
  [9, schedules.fire],
  [4, schedules.backfill],
  [2, schedules.occurrences],
  [1, schedules.putCalendars],
  [1, schedules.calendars],
  [1, schedules.deleteCalendars],
  [3, schedules.join],
  [1, schedules.renew],
  [1, schedules.leave],
  [1, schedules.allNodes],
  [2, access.reportWorkers],
  [1, access.allWorkers],
  [3, access.putCredential],
  [1, access.allCredentials],
  [1, access.deleteCredentials],
  [4, records.putRecords],
  [2, records.recordPage],
  [2, records.deleteRecords],
  [1, records.pruneRecords],
  [5, refusal],
  [7, again],
]

const bag = makers.flatMap(([weight, make]) => Array.from({ length: weight }, () => make))

/** Runs the sequence of a seed; answers the operations up to the first difference, and that. */
export const runSeed = async (
  pair: Pair,
  seed: number,
  watch: Watch = () => {},
): Promise<{ readonly operations: ReadonlyArray<Operation>; readonly found: Difference | null }> => {
  const choice = new Choice(seed)
  const memory: Memory = { last: 0, ids: [], gaps: [], held: [], expansions: [], made: [], hasStepped: false }
  const mayStep = choice.percent(25)
  const operations: Array<Operation> = []
  for (const length = choice.int(20, 66); operations.length < length;) {
    const moveMillis = moveOf(choice, mayStep)
    memory.hasStepped ||= moveMillis < 0
    const seen = await seenOf(pair.memory)
    const made = choice.of(bag)(new World(choice, memory, { ...seen, now: seen.now + moveMillis }))
    if (made === null) continue
    memory.made.push(made)
    const operation = { ...made, moveMillis }
    operations.push(operation)
    const { answer, found } = await step(pair, operation, operations.length - 1)
    if (found !== null) return { operations, found }
    watch(operation, answer)
    if (made.name === "claim" && "value" in answer) memory.held.push(...(answer.value as Memory["held"]))
  }
  return { operations, found: await compareVisible(pair, operations.length) }
}

const moveOf = (choice: Choice, mayStep: boolean): number => {
  if (choice.percent(50)) return 0
  if (mayStep && choice.percent(15)) return -choice.of([1, 500, 10_000])
  return choice.of([1, 100, 500, 500, 1_000, 1_000, 5_000, 30_000, 120_000])
}
