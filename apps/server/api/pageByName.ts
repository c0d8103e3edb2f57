// A page of a list that is read as a whole, such as the flows of a config or the workers of some nodes, by name.
import { pageUsual } from "../../api/fields.ts"
import { cursorOf, placeOf } from "./cursor.ts"

/** The items whose names come after the cursor's, at most as many as are asked for; `filter`: what else was asked. */
export const pageByName = <A>(
  list: string,
  items: ReadonlyArray<A>,
  nameOf: (item: A) => string,
  query: { readonly limit?: number; readonly cursor?: string },
  filter: unknown = null,
): { readonly items: ReadonlyArray<A>; readonly cursor: string | null } => {
  const { limit = pageUsual } = query
  const place = placeOf(list, filter, query.cursor, isPacked)
  const after = place === undefined ? undefined : unpack(place)
  const sorted = items
    .filter((item) => after === undefined || nameOf(item) > after)
    .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const page = sorted.slice(0, limit)
  const last = page.at(-1)
  return {
    items: page,
    cursor: last !== undefined && sorted.length > limit ? cursorOf(list, filter, pack(nameOf(last))) : null,
  }
}

// Names are of any letters, and a cursor is made of bytes: two for each.
const pack = (name: string): string =>
  Array.from({ length: name.length }, (_, at) => {
    const unit = name.charCodeAt(at)
    return String.fromCharCode(unit >> 8, unit & 0xff)
  }).join("")

const isPacked = (place: string): boolean => place.length > 0 && place.length % 2 === 0

const unpack = (place: string): string =>
  Array.from({ length: place.length / 2 }, (_, at) =>
    String.fromCharCode((place.charCodeAt(2 * at) << 8) | place.charCodeAt(2 * at + 1)),
  ).join("")
