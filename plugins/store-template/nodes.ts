// Nodes and their leases, calendars, and credentials.
import type { CalendarTable, CredentialTable, NodeTable } from "uhrwerk/sql"
import type { Rows } from "./rows.ts"

/** Makes the table of an open database. */
export const makeNodes = ({ nodes, nodeWorkers }: Rows): NodeTable => ({
  put: (node) => {
    nodes.put(node)
    nodeWorkers.remove(node.id)
  },
  find: (id) => nodes.get(id),
  extend: (id, expiresAt) => {
    const there = nodes.some([id])
    there.forEach((node) => nodes.put({ ...node, expiresAt }))
    return there.length > 0
  },
  remove: (id) => {
    nodes.remove(id)
    nodeWorkers.remove(id)
  },
  all: () => nodes.where(() => true),
  report: (id, workers) => {
    const isThere = nodes.get(id) !== undefined
    if (isThere) nodeWorkers.put({ node: id, workers })
    return isThere
  },
  reports: () => nodeWorkers.where(() => true),
})

/** Makes the table of an open database. */
export const makeCalendars = ({ calendars }: Rows): CalendarTable => ({
  put: (given) => given.forEach((calendar) => calendars.put(calendar)),
  all: () => calendars.where(() => true),
  remove: (names) => names.forEach((name) => calendars.remove(name)),
})

/** Makes the table of an open database. */
export const makeCredentials = ({ credentials }: Rows): CredentialTable => ({
  // Unique: the id, and kind and name. With several clients, the table is locked here (`lock table`) until the commit.
  insert: (row) => {
    const { id, kind, name } = row
    const isThere = (other: typeof row): boolean =>
      other.id === id || (other.kind === kind && other.name === name)
    if (credentials.where(isThere).length > 0) return false
    credentials.put(row)
    return true
  },
  count: () => credentials.where(() => true).length,
  all: () => credentials.where(() => true),
  remove: (ids) => {
    const there = credentials.some([...new Set(ids)])
    there.forEach(({ id }) => credentials.remove(id))
    return there.length
  },
})
