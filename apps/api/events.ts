// `/v1/events`: what happens, as it happens.
import * as Schema from "effect/Schema"
import { endpoint } from "./Endpoint.ts"
import { runId, text } from "./fields.ts"

/** In a query: one text or up to twenty. */
const texts = (about: string) =>
  Schema.optionalKey(
    Schema.Union([text(128, about), Schema.Array(text(128, about)).check(Schema.isMaxLength(20))]),
  )

/** The types of events that can be asked for: one, or the beginning of some, as `uhrwerk.run.*`. */
export const typeName = text(
  64,
  "A type, as `uhrwerk.run.ended`, or the beginning of some, as `uhrwerk.run.*`.",
)

/** The routes. */
export const eventsApi = {
  streamEvents: endpoint({
    name: "streamEvents",
    method: "get",
    path: "/v1/events",
    tag: "events",
    role: "viewer",
    summary: "Follow events",
    description:
      "CloudEvents 1.0 as server-sent events, of all servers on the store, in one order. A stream begins with what happens next, or behind the event that `Last-Event-ID` or `after` names; each event comes once. A comment comes at least every 8 seconds. `uhrwerk.gap` says that events after the one that was named are not kept any more.",
    query: Schema.Struct({
      type: texts("Only these types; `uhrwerk.run.*`: all that begin so."),
      job: texts("Only what is about these jobs, flows and schedules; `mail.*`: all that begin so."),
      run: Schema.optionalKey(runId),
      after: Schema.optionalKey(
        text(64, "The id of an event: go on behind it. `oldest`: all that is kept. `Last-Event-ID` wins."),
      ),
    }),
    success: [
      {
        status: 200,
        description: "The stream. It ends with `retry:` when the server stops.",
        schema: Schema.String,
        type: "text/event-stream",
      },
    ],
    problems: ["badHeader"],
  }),
}
