// The conformance kit for workers in any language: starts a worker, plays the server to it in some dozens of
// conversations, and counts what it keeps of the protocol's promises. Scenes run side by side, each with a process of
// the worker and a server of its own. The kit ends in bounded time, and no process outlives it.
import { type Case, type Group, type Scene, Unmet } from "./Case.ts"
import { audits } from "./cases/audits.ts"
import { core } from "./cases/core.ts"
import { polite } from "./cases/polite.ts"
import { reliable } from "./cases/reliable.ts"
import { wire } from "./cases/wire.ts"
import { showEntry } from "./Entry.ts"
import type { Launch } from "./Launch.ts"
import { Stage } from "./Stage.ts"

export { groups, type Group } from "./Case.ts"
export { killAll, type Launch, launchCommand, type Started, wordsOf } from "./Launch.ts"

/** What became of a case. */
export interface Scored extends Omit<Case, "run"> {
  readonly group: Group
  readonly ok: boolean
  readonly millis: number
  /** Of one that was lost: what was expected, what was seen, and the end of the conversation. */
  readonly lost: {
    readonly expected: string
    readonly seen: string
    readonly frames: ReadonlyArray<string>
    readonly output: ReadonlyArray<string>
  } | null
}

/** The score. */
export interface Report {
  readonly points: number
  readonly pointsMax: number
  /** What the worker says that it runs on, and its version; null: it never said hello. */
  readonly runtime: string | null
  readonly version: string | null
  readonly millis: number
  readonly cases: ReadonlyArray<Scored>
}

/** How a worker is tested. */
export interface Options {
  readonly launch: Launch
  /** Default: all. */
  readonly only?: ReadonlyArray<Group>
  /** Ids of cases; default: all of the groups. */
  readonly cases?: ReadonlyArray<string>
  /** How many processes of the worker at once; default 6. */
  readonly parallel?: number
  readonly onScored?: (scored: Scored) => void
}

const framesMax = 14
/** The longest that a case may take, in milliseconds: each wait in it has a shorter limit of its own. */
const caseMillisMax = 45_000

const groupOf = ({ id }: { readonly id: string }): Group => id.slice(0, id.indexOf(".")) as Group

/** All cases, by group, in the order of the report. */
export const allCases: ReadonlyArray<Omit<Case, "run">> = [
  ...[...core, ...reliable, ...polite, ...wire].flatMap(({ cases }) => cases),
  ...audits,
]

/** Cases that take seconds. */
export const slowCases: ReadonlySet<string> = new Set(
  [...core, ...reliable, ...polite, ...wire]
    .filter(({ slow }) => slow === true)
    .flatMap(({ cases }) => cases.map(({ id }) => id)),
)

/** Tests a worker. Never rejects for what the worker does. */
export const testWorker = async (options: Options): Promise<Report> => {
  const { only, cases: wanted, parallel = 6, onScored } = options
  const begin = performance.now()
  const asked = (each: { readonly id: string }): boolean =>
    (only === undefined || only.includes(groupOf(each))) && (wanted === undefined || wanted.includes(each.id))
  const scenes = [...core, ...reliable, ...polite, ...wire]
    .map((scene) => ({ ...scene, cases: scene.cases.filter(asked) }))
    .filter(({ cases }) => cases.length > 0)
    .sort((one, other) => Number(other.slow ?? false) - Number(one.slow ?? false))
  const stages: Array<Stage> = []
  const scored = new Map<string, Scored>()
  const add = (one: Scored): void => {
    scored.set(one.id, one)
    onScored?.(one)
  }
  const waiting = [...scenes]
  const runNext = async (): Promise<void> => {
    for (let scene = waiting.shift(); scene !== undefined; scene = waiting.shift())
      if (isMute(stages)) for (const each of scene.cases) add(unheard(each))
      else await runScene(scene, options.launch, stages, add)
  }
  await Promise.all(Array.from({ length: parallel }, runNext))
  for (const audit of audits.filter(asked)) {
    const { judge, ...about } = audit
    const silent = stages.every(({ hellos }) => hellos.length === 0)
    add(silent ? unheard(about) : await scoreOf(about, null, async () => judge(stages)))
  }
  const cases = allCases.flatMap(({ id }) => scored.get(id) ?? [])
  const sum = (some: ReadonlyArray<Scored>): number => some.reduce((all, { points }) => all + points, 0)
  const hello = stages.find(({ hellos }) => hellos.length > 0)?.hello
  return {
    points: sum(cases.filter(({ ok }) => ok)),
    pointsMax: sum(cases),
    runtime: hello?.runtime ?? null,
    version: hello?.version ?? null,
    millis: Math.round(performance.now() - begin),
    cases,
  }
}

/** Whether processes were started and ended, and none has ever said hello: more of them would only take time. */
const isMute = (stages: ReadonlyArray<Stage>): boolean =>
  stages.some(({ isClosed }) => isClosed) && stages.every(({ hellos }) => hellos.length === 0)

const unheard = ({ id, expects, why, see, points }: Omit<Case, "run">): Scored => ({
  id,
  expects,
  why,
  see,
  points,
  group: groupOf({ id }),
  ok: false,
  millis: 0,
  lost: { expected: "the worker says hello", seen: "it never did", frames: [], output: [] },
})

let names = 0

const runScene = async (
  { cases, terms, pieces }: Scene,
  launch: Launch,
  stages: Array<Stage>,
  add: (scored: Scored) => void,
): Promise<void> => {
  let stage: Stage | null = null
  for (const { run, ...about } of cases) {
    if (stage === null) {
      stage = new Stage({ name: `kit-${++names}`, launch, terms, pieces })
      stages.push(stage)
      await stage.open()
    }
    const on: Stage = stage
    const scored = await scoreOf(about, on, async () => {
      await on.ready()
      on.from = on.entries.length
      await run(on)
    })
    add(scored)
    // What a worker does after it broke a promise says nothing about the next one.
    if (scored.ok) continue
    await on.close()
    stage = null
  }
  await stage?.close()
}

const scoreOf = async (
  about: Omit<Case, "run">,
  stage: Stage | null,
  run: () => Promise<void>,
): Promise<Scored> => {
  const begin = performance.now()
  let deadline: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<never>((_, reject) => {
    deadline = setTimeout(() => reject(new Unmet("the case ends", "it took too long")), caseMillisMax)
  })
  let unmet: Unmet | null = null
  try {
    await Promise.race([run(), over])
  } catch (error) {
    unmet =
      error instanceof Unmet ? error : new Unmet("the kit knows what to do", String((error as Error).stack))
  }
  clearTimeout(deadline)
  return {
    ...about,
    group: groupOf(about),
    ok: unmet === null,
    millis: Math.round(performance.now() - begin),
    lost:
      unmet === null
        ? null
        : {
            expected: unmet.expected,
            seen: unmet.seen,
            frames: stage === null ? [] : framesOf(stage),
            output: stage?.started?.output().filter((line) => line !== "") ?? [],
          },
  }
}

const framesOf = ({ entries }: Stage): ReadonlyArray<string> => {
  const last = entries.filter(({ kind }) => kind !== "note").slice(-framesMax)
  const from = entries[0]?.at ?? 0
  return last.map((entry) => `${String(Math.round(entry.at - from)).padStart(6)} ms  ${showEntry(entry)}`)
}
