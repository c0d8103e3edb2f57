// `/v1/events`: streams of the journal's events.
import type { eventsApi } from "../../api/events.ts"
import { parsePosition, type Position } from "../events/Position.ts"
import { refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import type { Handlers } from "./Handler.ts"

/** Behind the routes. */
export const eventHandlers: Handlers<typeof eventsApi> = {
  streamEvents: async ({ query, headers, caller, signal, parts }) => {
    const from = await fromOf(parts, headers.get("last-event-id"), query.after)
    const stream = parts.outlets.streams.open({
      filter: {
        types: listOf(query.type),
        jobs: listOf(query.job),
        run: query.run ?? null,
        namespace: caller.namespace,
      },
      from,
      signal,
    })
    if (stream === undefined)
      throw refuse(
        "tooMany",
        "This server has as many event streams as it may have. End one, ask another server, or try again later.",
        { retryable: true, headers: { "retry-after": "10" } },
      )
    return {
      status: 200,
      // Proxies must not gather it.
      headers: { "content-type": "text/event-stream", "x-accel-buffering": "no" },
      stream,
    }
  },
}

const fromOf = async (
  { outlets }: ApiParts,
  header: string | null,
  after: string | undefined,
): Promise<Position> => {
  const given = header === null || header === "" ? after : header
  if (given === undefined) return outlets.journal.newest()
  if (given === "oldest") return outlets.journal.oldest()
  const position = parsePosition(given)
  if (position !== undefined) return position
  const next = "Give the `id` of an event of this stream, as it came, or leave it out."
  throw given === after
    ? refuse("invalidRequest", `\`after\` is no id of an event. ${next}`, {
        errors: [{ pointer: "/query/after", detail: "is no id of an event" }],
      })
    : refuse("badHeader", `\`Last-Event-ID\` is no id of an event. ${next}`)
}

const listOf = (given: string | ReadonlyArray<string> | undefined): ReadonlyArray<string> =>
  given === undefined ? [] : typeof given === "string" ? [given] : given
