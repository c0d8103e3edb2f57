// Examples for the routes of workers.
import type { workersApi } from "../../../../apps/api/workers.ts"
import type { Examples } from "./Example.ts"

export const config = {}

export const examples: Examples<Pick<typeof workersApi, "listWorkers">> = {
  listWorkers: [
    { gives: 200, ask: {} },
    { gives: "badCursor", ask: { query: { cursor: "of another list" } } },
  ],
}
