// Examples for the route of events.
import type { eventsApi } from "../../../../apps/api/events.ts"
import type { Examples } from "./Example.ts"

export const config = {}

export const examples: Examples<typeof eventsApi> = {
  streamEvents: [
    { gives: 200, ask: { query: { type: "uhrwerk.run.*", after: "oldest" } } },
    { gives: "badHeader", ask: { headers: { "last-event-id": "of another list" } } },
  ],
}
