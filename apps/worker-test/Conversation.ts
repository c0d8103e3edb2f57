// What was said between the kit and a worker, in order; and how cases wait for what they expect, or see to it that
// nothing comes. Every wait has an end.
import { patience, Unmet } from "./Case.ts"
import { type Entry, showEntry } from "./Entry.ts"

type Watched<T> = { readonly kind: "found"; readonly found: T } | { readonly kind: "time" | "exited" }
type Unwritten<E = Entry> = E extends Entry ? Omit<E, "at"> : never

/** A conversation that goes on. */
export class Conversation {
  readonly entries: Array<Entry> = []
  /** Where the entries of the case begin. */
  from = 0
  #exited = false
  readonly #watchers = new Set<() => void>()

  /** Waits for something; throws `Unmet` when it does not come in time. */
  async until<T>(expected: string, find: () => T | undefined | false, millis = patience): Promise<T> {
    const begin = performance.now()
    const seen = await this.#watch(find, millis)
    if (seen.kind === "found") return seen.found
    if (seen.kind === "exited") throw new Unmet(expected, "the process of the worker ended")
    throw new Unmet(`${expected}, within ${millis} ms`, this.#lastSeen(begin))
  }

  /** Waits this long; throws `Unmet` as soon as something comes that must not. */
  async never(expected: string, find: () => unknown, millis: number): Promise<void> {
    const seen = await this.#watch(() => find() ?? false, millis)
    if (seen.kind === "found" && seen.found !== false) throw new Unmet(expected, this.#lastSeen(0))
  }

  #watch<T>(find: () => T | undefined | false, millis: number): Promise<Watched<T>> {
    return new Promise((resolve) => {
      const done = (seen: Watched<T>): void => {
        clearTimeout(timer)
        this.#watchers.delete(look)
        resolve(seen)
      }
      const look = (): void => {
        const found = find()
        if (found !== undefined && found !== false) done({ kind: "found", found })
        else if (this.#exited) done({ kind: "exited" })
      }
      const timer = setTimeout(() => {
        done({ kind: "time" })
      }, millis)
      this.#watchers.add(look)
      look()
    })
  }

  /** Writes down that something happened. */
  write(entry: Unwritten): void {
    if (entry.kind === "exited") this.#exited = true
    // No two are of one instant, so that their order is in it.
    const at = Math.max(performance.now(), (this.entries.at(-1)?.at ?? 0) + 0.001)
    this.entries.push({ ...entry, at })
    for (const each of this.#watchers) each()
  }

  #lastSeen(since: number): string {
    const last = this.entries.findLast(({ kind }) => kind !== "said" && kind !== "note")
    if (last === undefined) return "nothing came from the worker"
    const ago = Math.round(performance.now() - last.at)
    const before = last.at < since ? "nothing came since; before that" : "the last that came was"
    return `${before}: ${showEntry(last)}, ${ago} ms ago`
  }
}
