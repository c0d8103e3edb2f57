// What a case of the conformance kit is: one promise of the protocol, and a conversation that shows whether a worker
// keeps it. A case ends, or throws `Unmet` with what was expected and what was seen instead.
import type { Terms } from "../../core/protocol/Terms.ts"
import type { Stage } from "./Stage.ts"

/** The four parts of the score. */
export const groups = ["core", "reliable", "polite", "wire"] as const
export type Group = (typeof groups)[number]

/** One promise. */
export interface Case {
  /** `group.name`. */
  readonly id: `${Group}.${string}`
  /** What a worker does, as a sentence. */
  readonly expects: string
  /** What happens where a worker does not. */
  readonly why: string
  /** Where core/protocol/README.md says it: `rule 4`, or the name of a heading. */
  readonly see: string
  /** What it counts; 2 where an outcome is lost or comes twice otherwise. */
  readonly points: 1 | 2
  readonly run: (stage: Stage) => Promise<void>
}

/** Cases that one process of the worker goes through, one after the other. */
export interface Scene {
  readonly cases: ReadonlyArray<Case>
  /** Beside `calm`. */
  readonly terms?: Partial<Terms>
  /** The server's frames arrive in pieces, as fragments with pings between them. */
  readonly pieces?: true
  /** It takes seconds, as the spans of the protocol are what it looks at: these scenes begin first. */
  readonly slow?: true
}

/** A promise was not kept. */
export class Unmet extends Error {
  override readonly name = "Unmet"
  readonly expected: string
  readonly seen: string

  constructor(expected: string, seen: string) {
    super(`${expected}; ${seen}`)
    this.expected = expected
    this.seen = seen
  }
}

/** Throws where it does not hold. `seen` says what was there instead. */
export const must = (holds: boolean, expected: string, seen: unknown): void => {
  if (!holds) throw new Unmet(expected, typeof seen === "string" ? seen : (JSON.stringify(seen) ?? "nothing"))
}

/** Terms that no case about time needs to wait for, and that a busy machine does not break. */
export const calm: Partial<Terms> = {
  heartbeatMillis: 500,
  suspectMillis: 4_000,
  lostMillis: 8_000,
  graceMillis: 4_000,
  restartMillis: 4_000,
  resendMillis: 5_000,
}

/** Terms for cases that are about time. */
export const brisk: Partial<Terms> = {
  heartbeatMillis: 200,
  suspectMillis: 800,
  lostMillis: 2_000,
  graceMillis: 400,
  restartMillis: 1_500,
  resendMillis: 5_000,
}

/** How long is waited for what should come at once, on a machine that is busy, in milliseconds. */
export const patience = 5_000
