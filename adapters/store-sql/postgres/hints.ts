// Hints on their way to other processes: gathered for a moment, so that a busy node sends few, and as the text of a
// NOTIFY. A hint may be lost, so what is too much is left out.
import type { Hint } from "../../../core/ports/Notifier.ts"

// Future due times in one message, ids of cancelled runs in one, and the largest payload that a server takes is 8,000 bytes.
const dueMax = 50
const idsMax = 150

/** Hints that wait to be sent, each thing once. */
export class Gathered {
  private readonly dueAts = new Set<number>()
  private readonly cancelled = new Set<string>()
  private schedules = false

  add(hint: Hint): void {
    if (hint.kind === "schedules") this.schedules = true
    else if (hint.kind === "cancelled") for (const id of hint.ids) this.cancelled.add(id)
    else this.dueAts.add(hint.dueAt)
  }

  get isEmpty(): boolean {
    return !this.schedules && this.dueAts.size === 0 && this.cancelled.size === 0
  }

  /** All of them as few hints, once. Of due times the earliest count: whoever wakes at one looks for the next. */
  take(): ReadonlyArray<Hint> {
    const dueAts = [...this.dueAts].sort((a, b) => a - b).slice(0, dueMax)
    const ids = [...this.cancelled]
    const hints: Array<Hint> = dueAts.map((dueAt) => ({ kind: "runs", dueAt }))
    if (this.schedules) hints.push({ kind: "schedules" })
    for (let from = 0; from < ids.length; from += idsMax)
      hints.push({ kind: "cancelled", ids: ids.slice(from, from + idsMax) })
    this.dueAts.clear()
    this.cancelled.clear()
    this.schedules = false
    return hints
  }
}

/** The payloads of hints: those about due times and schedules in one, those about cancelled runs in one each. */
export const payloadsOf = (origin: string, hints: ReadonlyArray<Hint>): ReadonlyArray<string> => {
  const cancels = hints.filter(({ kind }) => kind === "cancelled")
  const others = hints.filter(({ kind }) => kind !== "cancelled")
  return [...(others.length > 0 ? [others] : []), ...cancels.map((hint) => [hint])].map((some) =>
    JSON.stringify({ origin, hints: some }),
  )
}

/** The hints of a payload that came from somebody else; none of one that is not ours to read. */
export const hintsOf = (origin: string, payload: string): ReadonlyArray<Hint> => {
  let message: unknown
  try {
    message = JSON.parse(payload)
  } catch {
    return []
  }
  if (typeof message !== "object" || message === null || !("hints" in message)) return []
  if ("origin" in message && message.origin === origin) return []
  return Array.isArray(message.hints) ? message.hints.filter(isHint) : []
}

const isHint = (value: unknown): value is Hint => {
  if (typeof value !== "object" || value === null || !("kind" in value)) return false
  if (value.kind === "schedules") return true
  if (value.kind === "runs") return "dueAt" in value && typeof value.dueAt === "number"
  if (value.kind !== "cancelled" || !("ids" in value) || !Array.isArray(value.ids)) return false
  return value.ids.every((id) => typeof id === "string")
}
