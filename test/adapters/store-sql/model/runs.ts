// Operations on runs, made out of what there is.
import { failure } from "../../../../core/contract/Fixtures.ts"
import type { Settlement } from "../../../../core/domain/Outcome.ts"
import { runStates } from "../../../../core/domain/Run.ts"
import { badExpansions, expansionOf } from "./flows.ts"
import { join } from "./schedules.ts"
import { jobs, type Made, nodes, operation, queues, type World } from "./world.ts"

/** New runs, some of which need others, and some of which are there already. */
export const enqueue = (world: World): Made => {
  const { choice } = world
  const batch: Array<string> = []
  const runs = choice.list(1, choice.percent(5) ? 12 : 4, () => {
    const needs = choice.percent(35) ? world.needs(batch) : []
    const again = choice.percent(6) && world.runs.length + batch.length > 0
    const replayOf = choice.percent(3) ? world.anyId() : null
    const run = world.newRun({ needs, replayOf })
    const known = again ? { ...run, id: choice.of([...world.runs.map(({ id }) => id), ...batch]) } : run
    batch.push(known.id)
    return known
  })
  return operation("enqueue", runs)
}

export const claim = (world: World): Made => {
  const { choice, alive } = world
  // Who has no lease gets nothing, and a sequence of that alone would not come far.
  if (alive.length === 0 && choice.percent(90)) return join(world, 3_600_000)
  return operation("claim", {
    node: choice.of(alive.length > 0 && choice.percent(95) ? alive : nodes),
    queues: choice.percent(80) ? queues : [choice.of(queues)],
    jobs: choice.percent(80) ? jobs : choice.some(jobs, 3),
    limit: choice.of([1, 2, 5, 50]),
    acknowledged: choice.percent(60),
    ...(choice.percent(70) ? { expanding: ["flow"] } : {}),
  })
}

const held = (world: World) => {
  const { choice, memory } = world
  const running = world.runIn("running")
  if (running !== undefined && choice.percent(80)) return { id: running.id, token: running.token }
  if (memory.held.length > 0 && choice.percent(80)) return choice.of(memory.held)
  return { id: world.anyId(), token: choice.int(0, 3) }
}

export const started = (world: World): Made =>
  operation(
    "started",
    world.choice.list(1, 4, () => held(world)),
  )

/** Outcomes of runs that are carried, with repeats and with tokens that do not hold any more. */
export const settle = (world: World): Made => {
  const { choice } = world
  if (choice.percent(3)) {
    // Alone: whether it is refused hangs on its token, and in a batch on what goes before it.
    const wish = { kind: "expanded", expansion: choice.of(badExpansions), retryInMillis: null } as const
    return operation("settle", [{ ...held(world), ...wish }])
  }
  const running = world.runs.filter(({ state }) => state === "running")
  const taken = choice.percent(75) ? choice.some(running, 5) : []
  const others = choice.list(taken.length === 0 || choice.percent(20) ? 1 : 0, 2, () => held(world))
  const settlements = [...taken, ...others].map(({ id, token }) => {
    const job = world.runs.find((run) => run.id === id)?.job
    const expands = choice.percent(job === "flow" ? 75 : 3)
    return { id, token, ...(expands ? expandedAs(world) : outcomeOf(world)) } as Settlement
  })
  return operation("settle", choice.percent(8) ? [...settlements, ...settlements] : settlements)
}

const expandedAs = (world: World) => ({
  kind: "expanded",
  expansion: expansionOf(world),
  retryInMillis: world.choice.of([null, null, 0, 1_000]),
})

const outcomeOf = ({ choice }: World) => {
  const kind = choice.of([
    "succeeded",
    "succeeded",
    "succeeded",
    "failed",
    "failed",
    "snoozed",
    "released",
    "declined",
  ])
  switch (kind) {
    case "failed":
      return { kind, error: failure, retryInMillis: choice.of([null, null, 0, 1_000, 30_000]) }
    case "snoozed":
      return { kind, delayMillis: choice.of([0, 1, 1_000, 60_000]) }
    case "declined":
      return { kind, reason: choice.of(["Nothing to do", "Not today"]) }
    case "released":
      return choice.percent(50) ? { kind } : { kind, loss: choice.percent(90) }
    default:
      return { kind, output: choice.percent(50) ? null : JSON.stringify(choice.int(0, 99)) }
  }
}

export const promote = ({ choice }: World): Made => operation("promote", choice.of([1, 2, 1_000]))

export const dueWithin = (world: World): Made =>
  operation(
    "dueWithin",
    world.instant(5_000, 5_000),
    world.instant(0, 90_000),
    world.choice.of([1, 3, 1_000]),
  )

export const carried = ({ choice }: World): Made =>
  operation("carried", choice.of(nodes), choice.of([1, 3, 1_000]))

export const adopt = (world: World): Made => {
  const { choice, alive } = world
  return operation(
    "adopt",
    choice.of(alive.length > 0 && choice.percent(90) ? alive : nodes),
    choice.list(1, 4, () => held(world)),
  )
}

export const reclaim = ({ choice }: World): Made =>
  operation("reclaim", choice.of(nodes), choice.of([1, 2, 1_000]))

export const cancel = (world: World): Made =>
  operation(
    "cancel",
    world.choice.list(1, 3, () => world.anyId()),
    world.choice.of(["Not wanted", "Too late"]),
  )

export const get = (world: World): Made =>
  operation(
    "get",
    world.choice.list(0, 6, () => world.anyId()),
  )

export const list = (world: World): Made => {
  const { choice } = world
  return operation("list", {
    ...(choice.percent(40) ? { state: choice.of(runStates) } : {}),
    ...(choice.percent(25) ? { job: choice.of(jobs) } : {}),
    ...(choice.percent(25) ? { jobs: choice.list(0, 3, () => choice.of(jobs)) } : {}),
    ...(choice.percent(20) ? { queue: choice.of(queues) } : {}),
    ...(choice.percent(20) ? { after: world.anyId() } : {}),
    ...(choice.percent(15) ? { chainId: choice.percent(50) ? choice.of(["c1", "c2"]) : world.flowId() } : {}),
    ...(choice.percent(40) ? { before: world.anyId() } : {}),
    limit: choice.of([1, 3, 200]),
  })
}

export const queueDepths = (): Made => operation("queueDepths")

export const counts = (): Made => operation("counts")

export const attempts = (world: World): Made =>
  operation("attempts", world.runIn("dead", "retrying", "running")?.id ?? world.anyId())

export const deadLetters = (world: World): Made => {
  const { choice } = world
  return operation("deadLetters", {
    ...(choice.percent(30) ? { job: choice.of(jobs) } : {}),
    ...(choice.percent(30) ? { jobs: choice.list(0, 3, () => choice.of(jobs)) } : {}),
    ...(choice.percent(40) ? { before: world.anyId() } : {}),
    limit: choice.of([1, 3, 200]),
  })
}

const deadId = (world: World): string => {
  const { choice, letters } = world
  if (letters.length > 0 && choice.percent(75)) return choice.of(letters)
  return (choice.percent(85) ? world.runIn("dead")?.id : undefined) ?? world.anyId()
}

export const replay = (world: World): Made | null => {
  if (world.letters.length === 0 && world.choice.percent(80)) return null
  const ids = world.choice.list(1, 3, () => deadId(world))
  return operation(
    "replay",
    ids,
    ids.map(() => world.newId()),
  )
}

export const drop = (world: World): Made | null =>
  world.letters.length === 0 && world.choice.percent(80)
    ? null
    : operation(
        "drop",
        world.choice.list(1, 3, () => deadId(world)),
      )

export const prune = (world: World): Made => {
  const { choice, memory, now } = world
  // "A run that was made after the clock had stepped back may stay until the older ones can go as well."
  const before = memory.hasStepped
    ? now + 600_000
    : choice.of([now + 1, world.instant(60_000, 1_000), world.instant(60_000, 1_000)])
  return operation("prune", before, choice.of([1, 3, 1_000]))
}
