// The store of the kit: which attempt of a run holds, and how it ended. A few rows in memory, with the one rule that
// matters to workers: an outcome counts once, and only under the token that holds.
import type { Outcome } from "../../core/domain/Outcome.ts"
import type { Assign } from "../../core/protocol/Message.ts"
import type { AttemptKey, Verdict } from "../../core/protocol/Shapes.ts"

/** An attempt of a run. */
export type Attempt = AttemptKey

interface Row {
  attempt: number
  token: number
  state: "held" | "settled" | "free"
  outcome: Outcome | null
}

/** Rows by run. */
export class Rows {
  readonly #rows = new Map<string, Row>()
  #runs = 0
  #tokens = 0

  /** A new run with its first attempt, or the attempt that is given. */
  make(given: Partial<AttemptKey>): Attempt {
    const { run = `run-${++this.#runs}`, attempt = 1, token = ++this.#tokens } = given
    this.#rows.set(run, { attempt, token, state: "held", outcome: null })
    return { run, attempt, token }
  }

  /** The assignment of an attempt. */
  assignOf(attempt: Attempt, job: string, input: unknown): Omit<Assign, "type" | "id"> {
    return {
      ...attempt,
      job,
      queue: "default",
      input: input === undefined ? null : JSON.stringify(input),
      attemptMax: 5,
      timeoutMillis: null,
      dueAt: Date.now(),
      lateMillis: 0,
      nominalAt: null,
      schedule: null,
      needs: [],
      step: null,
    }
  }

  /** Whether the attempt holds its run. */
  holds({ run, attempt, token }: Attempt): boolean {
    const row = this.#rows.get(run)
    return row?.state === "held" && row.token === token && row.attempt === attempt
  }

  verdictOf(attempt: Attempt): Verdict["verdict"] {
    const row = this.#rows.get(attempt.run)
    if (this.holds(attempt)) return "keep"
    return row?.state === "settled" && row.token === attempt.token ? "settled" : "stale"
  }

  settle(attempt: Attempt, outcome: Outcome): "settled" | "stale" {
    const row = this.#rows.get(attempt.run)
    if (row === undefined || !this.holds(attempt)) return "stale"
    row.state = "settled"
    row.outcome = outcome
    return "settled"
  }

  /** The run is nobody's. */
  free(attempt: Attempt): void {
    const row = this.#rows.get(attempt.run)
    if (row !== undefined && this.holds(attempt)) row.state = "free"
  }

  /** How the run ended; undefined: it has not, under this token. */
  outcomeOf({ run, token }: Attempt): Outcome | undefined {
    const row = this.#rows.get(run)
    return row?.token === token ? (row.outcome ?? undefined) : undefined
  }

  /** Whether somebody said that nobody has it. */
  isFree({ run }: Attempt): boolean {
    return this.#rows.get(run)?.state === "free"
  }
}
