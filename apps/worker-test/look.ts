// What cases look for in a conversation.
import type { Outcome } from "../../core/domain/Outcome.ts"
import type { Ack, Ended, MessageOf, MessageType } from "../../core/protocol/Message.ts"
import { must, patience } from "./Case.ts"
import type { Attempt } from "./Rows.ts"
import type { Stage } from "./Stage.ts"

/** A message of the worker, and when it came. */
export interface Heard<T extends MessageType> {
  readonly at: number
  readonly connection: number
  readonly message: MessageOf<T>
}

/** The worker's messages of one type since the case began, those that were passed over included. */
export const heard = <const T extends MessageType>(stage: Stage, type: T): ReadonlyArray<Heard<T>> =>
  stage.entries
    .slice(stage.from)
    .flatMap((entry) =>
      entry.kind === "heard" && entry.message?.type === type
        ? [{ at: entry.at, connection: entry.connection, message: entry.message as MessageOf<T> }]
        : [],
    )

const same = (one: Attempt, other: Attempt): boolean => one.run === other.run && one.token === other.token

/** What the worker acknowledged about an attempt, in order. */
export const acksOf = (stage: Stage, attempt: Attempt): ReadonlyArray<Ack["acks"][number] & { at: number }> =>
  heard(stage, "ack").flatMap(({ at, message }) =>
    message.acks.filter((each) => same(each, attempt)).map((each) => ({ ...each, at })),
  )

/** The results and failures that the worker sent of an attempt, in order, with their time. */
export const endsOf = (stage: Stage, attempt: Attempt): ReadonlyArray<{ at: number; message: Ended }> =>
  [...heard(stage, "result"), ...heard(stage, "failure")]
    .filter(({ message }) => same(message, attempt))
    .sort((one, other) => one.at - other.at)

/** The lines that the handler of an attempt wrote. */
export const linesOf = (stage: Stage, attempt: Attempt): ReadonlyArray<string> =>
  heard(stage, "log").flatMap(({ message }) =>
    same(message, attempt) ? message.lines.map(({ text }) => text) : [],
  )

/** Waits for an acknowledgement. */
export const acked = (
  stage: Stage,
  attempt: Attempt,
  result: Ack["acks"][number]["result"],
  millis = patience,
): Promise<Ack["acks"][number]> =>
  stage.until(
    `the worker acknowledges ${attempt.run} as ${result}`,
    () => acksOf(stage, attempt).find((each) => each.result === result),
    millis,
  )

/** Waits until the outcome of an attempt is in the store. */
export const outcomeOf = (stage: Stage, attempt: Attempt, millis = patience): Promise<Outcome> =>
  stage.until(`the worker reports how ${attempt.run} ended`, () => stage.rows.outcomeOf(attempt), millis)

/** Waits for an outcome of this kind. */
export const endedAs = async (
  stage: Stage,
  attempt: Attempt,
  kind: Outcome["kind"],
  millis = patience,
): Promise<Outcome> => {
  const outcome = await outcomeOf(stage, attempt, millis)
  must(outcome.kind === kind, `${attempt.run} ends as ${kind}`, outcome)
  return outcome
}

/** Waits for a failure of this kind. */
export const failedAs = async (
  stage: Stage,
  attempt: Attempt,
  kind: string,
  millis = patience,
): Promise<Extract<Outcome, { readonly kind: "failed" }>> => {
  const outcome = await outcomeOf(stage, attempt, millis)
  must(
    outcome.kind === "failed" && outcome.error.kind === kind,
    `${attempt.run} fails with the kind ${kind}`,
    outcome,
  )
  return outcome as Extract<Outcome, { readonly kind: "failed" }>
}

/** The value of a JSON text. */
export const valueOf = (json: string | null): unknown =>
  json === null ? null : (JSON.parse(json) as unknown)

/** Checks that a run succeeded with this value. */
export const succeededWith = async (
  stage: Stage,
  attempt: Attempt,
  value: unknown,
  millis = patience,
): Promise<void> => {
  const outcome = await outcomeOf(stage, attempt, millis)
  const found = outcome.kind === "succeeded" ? JSON.stringify(sorted(valueOf(outcome.output))) : ""
  const expected = JSON.stringify(sorted(value))
  const short = expected.length > 200 ? `its input of ${expected.length} characters` : expected
  must(found === expected, `${attempt.run} succeeds with ${short}`, JSON.stringify(outcome).slice(0, 300))
}

// The order of keys says nothing here.
const sorted = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map((key) => [key, sorted((value as Record<string, unknown>)[key])]))
}

/** Waits for the hello after so many. */
export const helloAfter = (stage: Stage, count: number, millis = 2 * patience): Promise<typeof stage.hello> =>
  stage.until("the worker connects again and says hello", () => stage.hellos[count], millis)

/** When connections were opened, since the case began. */
export const openings = (stage: Stage): ReadonlyArray<number> =>
  stage.entries.slice(stage.from).flatMap((entry) => (entry.kind === "opened" ? [entry.at] : []))

/** How connections ended, since the case began. */
export const closings = (stage: Stage): ReadonlyArray<{ at: number; code: number }> =>
  stage.entries
    .slice(stage.from)
    .flatMap((entry) => (entry.kind === "closed" ? [{ at: entry.at, code: entry.code }] : []))

/** How the process ended, if it has. */
export const exitOf = (
  stage: Stage,
): { at: number; code: number | null; signal: string | null } | undefined => {
  const last = stage.entries.at(-1)
  return last?.kind === "exited" ? last : stage.entries.find((entry) => entry.kind === "exited")
}

export const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** How the latest hello names an attempt; undefined: not at all. */
export const named = (stage: Stage, attempt: Attempt): string | undefined =>
  stage.hello.inHand.find(({ run, token }) => run === attempt.run && token === attempt.token)?.state
