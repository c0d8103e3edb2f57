// Nodes and their leases, and calendars.
import type { CalendarTable, NodeTable } from "uhrwerk/sql"
import type { Rows } from "./rows.ts"

/** Makes the table of an open database. */
export const makeNodes = ({ nodes }: Rows): NodeTable => ({
  put: (node) => nodes.put(node),
  find: (id) => nodes.get(id),
  extend: (id, expiresAt) => {
    const there = nodes.some([id])
    there.forEach((node) => nodes.put({ ...node, expiresAt }))
    return there.length > 0
  },
  remove: (id) => nodes.remove(id),
  all: () => nodes.where(() => true),
})

/** Makes the table of an open database. */
export const makeCalendars = ({ calendars }: Rows): CalendarTable => ({
  put: (given) => given.forEach((calendar) => calendars.put(calendar)),
  all: () => calendars.where(() => true),
  remove: (names) => names.forEach((name) => calendars.remove(name)),
})
