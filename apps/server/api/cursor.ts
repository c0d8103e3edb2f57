// Where a list goes on: the place of the last item, with a print of the list and its filter, so that a cursor of another
// list is refused instead of answering a page of nobody knows what. It holds no secret and no right: who changes one gets
// another page of what he may see anyway.
import { fingerprint } from "../../../core/domain/Ids.ts"
import { refuse } from "../problems.ts"

const printLength = 12

const printOf = (list: string, filter: unknown): string =>
  fingerprint(`${list} ${JSON.stringify(filter)}`).slice(0, printLength)

/** The cursor for what comes after a place: 1 to 300 characters of ASCII. */
export const cursorOf = (list: string, filter: unknown, place: string): string =>
  btoa(printOf(list, filter) + place)
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "")

/** The place of a cursor, if there is one; throws `badCursor` for another list's, and for a place that `isPlace` denies. */
export const placeOf = (
  list: string,
  filter: unknown,
  cursor: string | undefined,
  isPlace: (place: string) => boolean,
): string | undefined => {
  if (cursor === undefined) return undefined
  const text = textOf(cursor)
  const place = text.slice(printLength)
  if (text.startsWith(printOf(list, filter)) && isPlace(place)) return place
  throw refuse(
    "badCursor",
    "This cursor is not one of this list with this filter. Begin anew without one, or ask with the filter that it came from.",
  )
}

const textOf = (cursor: string): string => {
  try {
    return atob(cursor.replaceAll("-", "+").replaceAll("_", "/"))
  } catch {
    return ""
  }
}
