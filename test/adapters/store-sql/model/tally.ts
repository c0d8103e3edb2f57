// How often each operation came, and each answer that says that it did something of interest: a generator that has
// come to make only calls that do nothing would find nothing any more, and nobody would notice.
import type { Expansion } from "../../../../core/domain/Flow.ts"
import type { Settlement } from "../../../../core/domain/Outcome.ts"
import type { FlowView, StoreDriver } from "../../../../core/ports/StoreDriver.ts"
import { pageMax } from "../../../../core/ports/StoreLimits.ts"
import type { Answer, Operation } from "./operations.ts"

/** Counts by what happened. */
export class Tally {
  readonly counts = new Map<string, number>()

  /** Notes one operation and its answer. */
  readonly note = (operation: Operation, answer: Answer): void => {
    const { name, moveMillis } = operation
    this.#add(name)
    if (moveMillis < 0) this.#add("the clock steps back")
    if (!("value" in answer)) return this.#add(`${name} refused`)
    for (const what of happened(operation, answer.value)) this.#add(`${name} ${what}`)
  }

  /** Notes where everything stands at the end of a sequence. */
  async end(store: StoreDriver): Promise<void> {
    for (const run of await store.list({ limit: pageMax })) {
      this.#add(`a run ${run.state}`)
      const view = await store.flowOf(run.id)
      if (view !== null) for (const what of flowSeen(view)) this.#add(what)
    }
    for (const { runId, count, reason } of await store.occurrences({ limit: pageMax }))
      this.#add(
        count > 1
          ? "instants that share a row"
          : runId === null
            ? `an instant ${reason}`
            : "an instant with a run",
      )
    for (const _letter of await store.deadLetters({ limit: pageMax })) this.#add("a letter")
  }

  #add(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }
}

type Rows = ReadonlyArray<Record<string, unknown>>

const happened = ({ name, args }: Operation, value: unknown): ReadonlyArray<string> => {
  const rows = value as Rows
  switch (name) {
    case "enqueue":
      return rows.map(({ result, state }) =>
        result === "created" ? `created ${String(state)}` : String(result),
      )
    case "claim":
      return [
        rows.length === 0
          ? "none"
          : rows.length === (args[0] as { limit: number }).limit
            ? "a full page"
            : "some",
      ]
    case "settle":
      return settled(args[0] as ReadonlyArray<Settlement>, rows)
    case "reclaim":
      return rows.map(({ state }) => String(state))
    case "cancel":
    case "replay":
    case "backfill":
      return rows.map(({ result }) => String(result))
    case "rerunFlow":
      return [(value as { result: string }).result]
    case "started":
    case "adopt":
    case "fire":
      return [
        ...(value as ReadonlyArray<unknown>).map(String),
        ...((args.at(-1) as Rows).length >= 12 ? ["many"] : []),
      ]
    case "putRecords":
      return (value as ReadonlyArray<number>).map((version) =>
        version === 0 ? "another version" : version === 1 ? "new" : "one more",
      )
    case "markStep":
    case "pauseSchedule":
    case "renew":
    case "reportWorkers":
    case "putCredential":
      return [String(value)]
    case "dueSchedules":
      return dueSeen(value)
    case "occurrences":
      return (value as { rows: Rows }).rows.length > 0 ? ["some"] : ["none"]
    default:
      return isSome(value) ? ["some"] : ["none"]
  }
}

const isSome = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : typeof value === "number" ? value > 0 : value !== null

const settled = (settlements: ReadonlyArray<Settlement>, rows: Rows): ReadonlyArray<string> =>
  settlements.flatMap((settlement, place) => {
    const { kind, token, id } = settlement
    const asLost = kind === "released" && settlement.loss === true ? " as lost" : ""
    const result = `${kind}${asLost} ${String(rows[place]?.["result"])}`
    const isAgain = settlements.some(
      (each, before) => before < place && each.id === id && each.token === token,
    )
    if (isAgain) return [`again ${String(rows[place]?.["result"])}`]
    return kind === "expanded" && result.endsWith("settled")
      ? [result, ...shapeOf(settlement.expansion)]
      : [result]
  })

const shapeOf = (expansion: Expansion): ReadonlyArray<string> => {
  if (expansion.kind === "map") return ["a map", ...(expansion.failFast ? ["a fail-fast map"] : [])]
  const { steps, failFast, timeoutMillis } = expansion.definition
  return [
    ...new Set(steps.map(({ rule = "all_success" }) => rule)),
    ...(failFast ? ["a fail-fast flow"] : []),
    ...(timeoutMillis === null ? [] : ["a flow with a time limit"]),
  ]
}

const flowSeen = ({ run, round, steps }: FlowView): ReadonlyArray<string> => [
  `a flow run ${run.state}`,
  ...steps.map(({ state }) => `a step ${state}`),
  ...(round > 1 ? ["a later round"] : []),
]

const dueSeen = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "number") return ["a page of some that wait"]
  const { waiting, come } = value as { readonly waiting: Rows; readonly come: Rows }
  return [
    ...waiting.map(() => "that waited"),
    ...come.map(({ lastRunAlive }) =>
      lastRunAlive === true ? "with a last run alive" : "whose instant came",
    ),
  ]
}
