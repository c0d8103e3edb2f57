// A binary heap that can also remove from its middle in O(log n): each item knows its place. So no dead entry
// stays behind, whatever is cancelled before it comes to the top.

/** Where an item stands: in one heap by its `place`, in another by its `expiryPlace`; -1 in none. */
export interface Placed {
  place: number
  expiryPlace: number
}

/** Items in the order of `isBefore`, which must not change for an item while it is inside. */
export class Heap<T extends Placed> {
  readonly #items: Array<T> = []
  readonly #isBefore: (a: T, b: T) => boolean
  readonly #slot: keyof Placed

  constructor(isBefore: (a: T, b: T) => boolean, slot: keyof Placed = "place") {
    this.#isBefore = isBefore
    this.#slot = slot
  }

  /** The first item. */
  get top(): T | undefined {
    return this.#items[0]
  }

  /** Puts in an item that is in no heap of this slot. */
  push(item: T): void {
    this.#items.push(item)
    this.#up(item, this.#items.length - 1)
  }

  /** Takes out an item that is inside. */
  remove(item: T): void {
    const place = item[this.#slot]
    const last = this.#items.pop() as T
    if (last !== item) {
      this.#up(last, place)
      this.#down(last, last[this.#slot])
    }
    item[this.#slot] = -1
  }

  /** All items for which it holds, in no order; it must hold for an item if it does for a later one. */
  leading(holds: (item: T) => boolean): Array<T> {
    const found: Array<T> = []
    const open = [0]
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      const item = this.#items[place]
      if (item === undefined || !holds(item)) continue
      found.push(item)
      open.push(2 * place + 1, 2 * place + 2)
    }
    return found
  }

  #put(item: T, place: number): void {
    this.#items[place] = item
    item[this.#slot] = place
  }

  #up(item: T, from: number): void {
    let place = from
    while (place > 0) {
      const parentPlace = (place - 1) >> 1
      const parent = this.#items[parentPlace] as T
      if (!this.#isBefore(item, parent)) break
      this.#put(parent, place)
      place = parentPlace
    }
    this.#put(item, place)
  }

  #down(item: T, from: number): void {
    let place = from
    for (;;) {
      let childPlace = 2 * place + 1
      let child = this.#items[childPlace]
      if (child === undefined) break
      const right = this.#items[childPlace + 1]
      if (right !== undefined && this.#isBefore(right, child)) {
        child = right
        childPlace++
      }
      if (!this.#isBefore(child, item)) break
      this.#put(child, place)
      place = childPlace
    }
    this.#put(item, place)
  }
}
