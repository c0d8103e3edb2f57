// What the compiler knows of the client: `npm run types` is the test, as in sdk.types.ts.
import type { RunState } from "../../core/domain/Run.ts"
import { ApiProblem, makeClient, type CallOf, type ProblemCode } from "uhrwerk/client"
import * as Schema from "effect/Schema"
import { endpoint } from "../../apps/api/mod.ts"
import { flag, listOf, page } from "../../apps/api/fields.ts"
import type { ArgumentsOf, BodyOf } from "../../apps/client/calls.ts"

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only when both types are the same. */
const same = <A, B>(_proof: Same<A, B>): void => {}

const client = makeClient({ url: "http://127.0.0.1:8080" })

// A call takes what its route takes.
const run = await client.sendRun({ body: { job: "a", delay: "5m", input: { any: "thing" } } })
same<typeof run.state, RunState>(true)
same<typeof run.id, string>(true)
same<typeof run.endedAt, number | null>(true)
// @ts-expect-error a body without a job
void client.sendRun({ body: {} })
// @ts-expect-error a field that the route does not take
void client.sendRun({ body: { job: "a", retries: 3 } })
// @ts-expect-error no body
void client.sendRun({})
// @ts-expect-error no parameters
void client.getRun()
// @ts-expect-error another parameter
void client.getRun({ params: { run: "x" } })
// @ts-expect-error a body where there is none
void client.getRun({ params: { id: "x" }, body: {} })
// @ts-expect-error no such route
void client.fly()
void client.listWorkers()
void client.listWorkers({ signal: AbortSignal.timeout(1) })

// The whole answer has the same body.
const { status, headers, body } = await client.full.getRun({ params: { id: "x" } })
same<typeof status, number>(true)
same<typeof headers, Headers>(true)
same<typeof body.id, string>(true)

// Pages are of lists only; what is no stream has none.
for await (const { items } of client.pages.listRuns({ query: { state: "dead", limit: 50 } }))
  same<(typeof items)[number]["state"], RunState>(true)
// @ts-expect-error no list
void client.pages.getRun({ params: { id: "x" } })
// @ts-expect-error no events
void client.stream.getRun({ params: { id: "x" } })
// @ts-expect-error no such state
void client.listRuns({ query: { state: "novel" } })

// Errors are told apart by their code.
const error: unknown = null
if (error instanceof ApiProblem) {
  same<typeof error.code, ProblemCode | "unknown">(true)
  // @ts-expect-error no such code
  void (error.code === "novel")
}

// Queries: numbers and flags as they are; optional where nothing is required.
const list = endpoint({
  name: "list",
  method: "get",
  path: "/v1/list",
  tag: "t",
  role: "viewer",
  summary: "s",
  query: Schema.Struct({
    ...page,
    deep: Schema.optionalKey(flag("f")),
    kind: Schema.optionalKey(Schema.Literals(["a", "b"])),
  }),
  success: [{ status: 200, description: "d", schema: listOf(Schema.Finite) }],
  problems: [],
})
type ListCall = CallOf<typeof list>
const some: ListCall = { query: { limit: 10, deep: true, kind: "a" } }
void some
// @ts-expect-error no such kind
const wrong: ListCall = { query: { kind: "c" } }
void wrong
same<ArgumentsOf<typeof list>, [call?: ListCall]>(true)
same<BodyOf<typeof list>["items"], ReadonlyArray<number>>(true)

const remove = endpoint({
  name: "remove",
  method: "delete",
  path: "/v1/list",
  tag: "t",
  role: "admin",
  summary: "s",
  body: Schema.Struct({ why: Schema.optionalKey(Schema.String) }),
  bodyOptional: true,
  success: [{ status: 204, description: "d" }],
  problems: [],
})
same<ArgumentsOf<typeof remove>, [call?: CallOf<typeof remove>]>(true)
same<BodyOf<typeof remove>, undefined>(true)
