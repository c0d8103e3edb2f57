// What the flow runs of the crash suite consist of, and what each of their steps does, by the number of the flow run:
// pure, so that the engine that is killed and the checker afterwards go by the same plan and share nothing else.
import type { FlowStep, StepEnd, TriggerRule } from "../../core/domain/Flow.ts"

/** Succeed at once, after a while, at the second attempt; fail for good; or a condition that does not hold. */
export type Does = "ok" | "slow" | "flaky" | "broken" | "declines"

/** A step of the plan; a `map` has items, a `flow` runs the inner one. */
export interface Planned extends FlowStep {
  readonly kind: "step" | "map" | "flow"
  readonly does: (n: number) => Does
}

/** The input of a flow run: which one it is. */
export interface Numbered {
  readonly n: number
}

/** Names of the two flows. */
export const outer = "night"
export const inner = "inner"

const step = (
  id: string,
  needs: ReadonlyArray<string>,
  does: Planned["does"] = () => "ok",
  more: {
    readonly rule?: TriggerRule
    readonly allowFailure?: boolean
    readonly kind?: Planned["kind"]
  } = {},
): Planned => ({ kind: "step", id, needs, does, ...more })

const row = (count: number, of: (index: number) => Planned): ReadonlyArray<Planned> =>
  Array.from({ length: count }, (_, index) => of(index))
const ids = (name: string, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => `${name}${index}`)

/** 50 steps: two fans and their joins, chains, a condition, a list, a flow within, an allowed failure and one that is not. */
export const plan: ReadonlyArray<Planned> = [
  step("seed", []),
  ...row(10, (at) =>
    step(`fan${at}`, ["seed"], () => (at % 4 === 1 ? "flaky" : at % 5 === 2 ? "slow" : "ok")),
  ),
  step("early", ["fan0", "fan1", "fan2"], undefined, { rule: "one_success" }),
  step("join", ids("fan", 10)),
  ...row(10, (at) => step(`chain${at}`, [at === 0 ? "join" : `chain${at - 1}`])),
  step("gate", ["join"], (n) => (n % 3 === 0 ? "declines" : "ok")),
  step("gated", ["gate"]),
  step("behind", ["gated"], () => "flaky"),
  step("either", ["behind", "chain9"], undefined, { rule: "none_failed" }),
  step("list", ["join"], undefined, { kind: "map" }),
  step("sum", ["list"]),
  step("risky", ["chain4"], (n) => (n % 2 === 0 ? "broken" : "ok"), { allowFailure: true }),
  step("cleanup", ["risky"], undefined, { rule: "all_done" }),
  step("alarm", ["risky"], undefined, { rule: "one_failed" }),
  step("sour", ["chain1"], (n) => (n % 7 === 0 ? "broken" : "ok")),
  step("spoilt", ["sour"]),
  step("nested", ["seed"], undefined, { kind: "flow" }),
  step("unpack", ["nested"]),
  ...row(8, (at) => step(`wide${at}`, ["either", "chain9"], () => (at === 3 ? "slow" : "ok"))),
  step("narrow", ids("wide", 8)),
  step("report", ["narrow", "sum", "cleanup", "alarm", "spoilt", "unpack", "early"], undefined, {
    rule: "all_done",
  }),
  ...row(4, (at) => step(`tail${at}`, [at === 0 ? "report" : `tail${at - 1}`])),
]

/** The flow within the flow. */
export const innerPlan: ReadonlyArray<Planned> = row(3, (at) =>
  step(`deep${at}`, at === 0 ? [] : [`deep${at - 1}`], () => (at === 1 ? "flaky" : "ok")),
)

/** What each item of the list does. */
export const itemsOf = (n: number): ReadonlyArray<Does> =>
  Array.from({ length: 3 + (n % 3) }, (_, index) =>
    n % 11 === 5 && index === 1 ? "broken" : index === 0 ? "flaky" : "ok",
  )

/** How a step ends that does this when it runs. */
export const endOf = (does: Does): StepEnd =>
  does === "broken" ? "failed" : does === "declines" ? "skipped" : "succeeded"

/** How the steps of the outer flow end when they run. */
export const outcomesOf = (n: number): ReadonlyMap<string, StepEnd> =>
  new Map(
    plan.map(({ id, kind, does }) => {
      const isBroken = kind === "map" && itemsOf(n).includes("broken")
      return [id, isBroken ? "failed" : endOf(does(n))]
    }),
  )
