// Ids in ascending order. New ids are UUIDv7 and nearly always the greatest, so adding is an append; a page is
// read backwards from its key.

/** A sorted list of distinct ids. */
export class IdList {
  #ids: Array<string> = []

  /** Adds an id that is not there. */
  add(id: string): void {
    const last = this.#ids.at(-1)
    if (last === undefined || last < id) this.#ids.push(id)
    else this.#ids.splice(this.#placeOf(id), 0, id)
  }

  /** Removes an id; nothing happens when it is not there. */
  remove(id: string): void {
    const place = this.#placeOf(id)
    if (this.#ids[place] === id) this.#ids.splice(place, 1)
  }

  /** Removes many ids in one pass over the part that holds them. */
  removeAll(ids: ReadonlyArray<string>): void {
    const gone = new Set(ids)
    let first = this.#ids.length
    let last = -1
    for (const id of gone) {
      const place = this.#placeOf(id)
      first = Math.min(first, place)
      last = Math.max(last, place)
    }
    if (last < 0) return
    const kept = this.#ids.slice(first, last + 1).filter((id) => !gone.has(id))
    this.#ids = this.#ids.slice(0, first).concat(kept, this.#ids.slice(last + 1))
  }

  /** The ids below `before`, or all, the greatest first. */
  *newestFirst(before?: string): Generator<string, void> {
    let place = before === undefined ? this.#ids.length : this.#placeOf(before)
    while (place > 0) yield this.#ids[--place] as string
  }

  /** The ids from `from` on, the least first. */
  *oldestFirst(from: string): Generator<string, void> {
    for (let place = this.#placeOf(from); place < this.#ids.length; place++) yield this.#ids[place] as string
  }

  #placeOf(id: string): number {
    let low = 0
    let high = this.#ids.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#ids[middle] as string) < id) low = middle + 1
      else high = middle
    }
    return low
  }
}
