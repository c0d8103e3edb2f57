// Which worker gets a run. Beside the desk, which asks once for each run that it hands out, so a choice costs one pass
// over the candidates, and what is remembered is bounded by them. Pure: the same calls give the same answers.
import * as Result from "effect/Result"
import { InvalidInput } from "../domain/Errors.ts"
import type { Placement } from "../domain/Placement.ts"
import type { Run } from "../domain/Run.ts"
import { quote } from "../domain/TimeSpan.ts"
import { type LabelRule, type Labels, matches, readRule } from "./LabelRule.ts"
import type { WorkerView } from "./WorkerView.ts"

/** A worker that a run may go to: for this job it has a handler, and the run's queue is one of its own. */
export interface Candidate {
  /** Unique among the candidates. */
  readonly name: string
  /** As `labelsOf` makes them: once a session, as the chooser knows them again by identity. */
  readonly labels: Labels
  /** At least 1. */
  readonly slots: number
  readonly inHand: number
  /** How many more runs it takes now; one that takes none is not chosen. */
  readonly free: number
}

/** What rules may ask of a worker: its labels, its `worker` name, its `version`, and of its `runtime` the name alone. */
export const labelsOf = (view: Pick<WorkerView, "name" | "runtime" | "version" | "labels">): Labels => ({
  ...view.labels,
  worker: view.name,
  runtime: view.runtime.split(" ", 1)[0] as string,
  version: view.version,
})

/** A checked placement. */
export interface CompiledPlacement {
  readonly by: "leastLoaded" | "roundRobin" | "hash"
  /** Of `hash`: the path to the field in the input; else empty. */
  readonly path: ReadonlyArray<string>
  /** `null`: any worker fits. */
  readonly rule: LabelRule | null
  readonly broadcast: boolean
}

/** The longest path to a field of the input, in characters. */
const pathLengthMax = 256

/** Checks a placement. `field` is where it stands, in a refusal. */
export const compilePlacement = (
  field: string,
  placement: Placement,
): Result.Result<CompiledPlacement, InvalidInput> =>
  Result.gen(function* () {
    const refuse = (part: string, reason: string, next: string) =>
      Result.fail(new InvalidInput({ field: `${field}.${part}`, reason, next }))
    if (typeof placement !== "object" || (placement as unknown) === null) {
      const next = 'Give one such as `{ by: "leastLoaded", where: "gpu > 1", broadcast: false }`.'
      return yield* Result.fail(
        new InvalidInput({ field, reason: `${quote(placement)} is no placement`, next }),
      )
    }
    const { by, where, broadcast } = placement as Partial<Placement>
    const path = yield* readBy(by, (reason, next) => refuse("by", reason, next))
    const rule = where === null || where === undefined ? null : yield* readRule(`${field}.where`, where)
    if (typeof broadcast !== "boolean")
      return yield* refuse("broadcast", `${quote(broadcast)} is not true or false`, "Give true or false.")
    if (broadcast && by !== "leastLoaded")
      return yield* refuse(
        "by",
        "a broadcast goes to every worker that fits",
        "Leave out `by`, or `broadcast`.",
      )
    return { by: typeof by === "string" ? by : "hash", path, rule, broadcast }
  })

const readBy = (
  by: unknown,
  refuse: (reason: string, next: string) => Result.Result<never, InvalidInput>,
): Result.Result<ReadonlyArray<string>, InvalidInput> => {
  if (by === "leastLoaded" || by === "roundRobin") return Result.succeed([])
  const next = 'Give "leastLoaded", "roundRobin" or a field such as `{ hash: "customer" }`.'
  if (typeof by !== "object" || by === null) return refuse(`${quote(by)} is no way to choose a worker`, next)
  const { hash } = by as { readonly hash?: unknown }
  if (typeof hash !== "string" || hash.length > pathLengthMax || hash.split(".").includes(""))
    return refuse(
      `hash: ${quote(hash)} is no path to a field of the input`,
      `Give names with dots between them, such as "order.id", at most ${pathLengthMax} characters.`,
    )
  return Result.succeed(hash.split("."))
}

/** Whether a worker is one that the runs may go to, whether or not it has room; `null`: all are. */
export const fits = (placement: CompiledPlacement | null, { labels }: Pick<Candidate, "labels">): boolean =>
  placement === null || placement.rule === null || matches(placement.rule, labels)

/** What is remembered of a worker for all jobs. */
interface Known {
  readonly name: string
  readonly hash: number
  /** When it was chosen last, in choices; 0: never. */
  chosenAt: number
}

/** What is remembered of a worker for one job. */
interface Seat {
  readonly worker: Known
  labels: Labels
  fits: boolean
  chosenAt: number
}

/** A job, or all without a placement. */
interface Lane {
  readonly placement: CompiledPlacement | null
  readonly seats: Map<string, Seat>
  /** The seats of the last candidates, in their order, which mostly is the next ones' order too. */
  readonly order: Array<Seat>
}

/** Seats that are remembered. Beyond, all are forgotten, and with them only whose turn it was. */
const seatsMax = 100_000

/** Chooses workers, and remembers whose turn it is. One for each desk. */
export class Chooser {
  readonly #known = new Map<string, Known>()
  readonly #lanes = new Map<string, Lane>()
  #seats = 0
  #choices = 0

  /**
   * The name of the worker for this run, among the candidates that fit and have room; `null` when there is none.
   * `null` for the placement is `leastLoaded` among all of them. The order of the candidates counts only where nothing
   * else tells two apart.
   */
  choose(
    placement: CompiledPlacement | null,
    run: Pick<Run, "id" | "job" | "input">,
    candidates: ReadonlyArray<Candidate>,
  ): string | null {
    const lane = this.#laneOf(placement, run.job)
    const by = placement?.by ?? "leastLoaded"
    const key = placement !== null && by === "hash" ? hashOf(keyOf(placement.path, run)) : 0
    let best: Seat | null = null
    let ofBest: Candidate | null = null
    let weightOfBest = 0
    for (let place = 0; place < candidates.length; place++) {
      const candidate = candidates[place] as Candidate
      if (!(candidate.free > 0)) continue
      const seat = this.#seatOf(lane, place, candidate)
      if (!seat.fits) continue
      // Rendezvous hashing: each value has an order of workers of its own, by these weights. The first one that has room is
      // the heaviest of those that have, so nothing is sorted; and a worker that goes moves the values that were its own.
      const weight = by === "hash" ? mixed(key ^ seat.worker.hash) : 0
      const isBetter =
        best === null || ofBest === null
          ? true
          : by === "leastLoaded"
            ? isLessLoaded(candidate, seat, ofBest, best)
            : by === "roundRobin"
              ? seat.chosenAt < best.chosenAt
              : weight > weightOfBest || (weight === weightOfBest && seat.worker.name < best.worker.name)
      if (!isBetter) continue
      best = seat
      ofBest = candidate
      weightOfBest = weight
    }
    if (best === null) return null
    best.chosenAt = best.worker.chosenAt = ++this.#choices
    const { name } = best.worker
    if (this.#seats > seatsMax) this.#forget()
    return name
  }

  /** What is remembered, in seats: one for each job and worker of it. */
  get size(): number {
    return this.#seats
  }

  #laneOf(placement: CompiledPlacement | null, job: string): Lane {
    // Turns are kept for each job; without a placement there are none to keep apart.
    const id = placement === null ? "" : job
    const lane = this.#lanes.get(id)
    if (lane !== undefined && lane.placement === placement) return lane
    this.#seats += 1 - (lane === undefined ? 0 : lane.seats.size + 1)
    const made: Lane = { placement, seats: new Map(), order: [] }
    this.#lanes.set(id, made)
    return made
  }

  #seatOf(lane: Lane, place: number, { name, labels }: Candidate): Seat {
    const usual = lane.order[place]
    const seat = usual?.worker.name === name ? usual : this.#seatOfName(lane, name, labels)
    lane.order[place] = seat
    if (seat.labels !== labels) {
      seat.labels = labels
      seat.fits = fits(lane.placement, { labels })
    }
    return seat
  }

  #seatOfName(lane: Lane, name: string, labels: Labels): Seat {
    const found = lane.seats.get(name)
    if (found !== undefined) return found
    let worker = this.#known.get(name)
    if (worker === undefined) this.#known.set(name, (worker = { name, hash: hashOf(name), chosenAt: 0 }))
    const seat: Seat = { worker, labels, fits: fits(lane.placement, { labels }), chosenAt: 0 }
    lane.seats.set(name, seat)
    this.#seats++
    return seat
  }

  #forget(): void {
    this.#known.clear()
    this.#lanes.clear()
    this.#seats = 0
  }
}

/** Less in hand for its slots; of equals, the one that was chosen longest ago, for whatever job. */
const isLessLoaded = (a: Candidate, ofA: Seat, b: Candidate, ofB: Seat): boolean => {
  const difference = a.inHand * b.slots - b.inHand * a.slots
  return difference === 0 ? ofA.worker.chosenAt < ofB.worker.chosenAt : difference < 0
}

/** The text that a run's worker is chosen by: its field's value, or its id where it has no such field. */
const keyOf = (path: ReadonlyArray<string>, { id, input }: Pick<Run, "id" | "input">): string => {
  if (input === null) return id
  let value: unknown = Result.getOrUndefined(Result.try((): unknown => JSON.parse(input)))
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return id
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  if (value === null || value === undefined) return id
  return typeof value === "string" ? value : JSON.stringify(value)
}

/** 32 bits of a text: the same on every runtime and node, and no secret. */
const hashOf = (text: string): number => {
  let hash = text.length
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x9e3779b1)
    hash ^= hash >>> 15
  }
  return mixed(hash)
}

/** Lets every bit reach every other one; the finish of MurmurHash3. */
const mixed = (bits: number): number => {
  let hash = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
