// Examples for the routes of runs.
import * as Schema from "effect/Schema"
import { job } from "uhrwerk"
import type { runsApi } from "../../../../apps/api/runs.ts"
import { until } from "../../server/project.ts"
import type { Examples, Stage } from "./Example.ts"

export const config = {
  jobs: [
    job("mail.doomed", {
      retry: { max: 1 },
      run: () => {
        throw new Error("no such mailbox")
      },
    }),
    job("mail.digest", {
      input: Schema.toStandardSchemaV1(Schema.Struct({ to: Schema.String })),
      run: () => ({ sent: 3 }),
    }),
  ],
}

const input = { to: "ada@example.org" }
const id = "01997f3e-8a00-7000-8000-0000000000aa"
const later = { job: "mail.digest", input, delay: "1h" }
const none = { params: { id: "01997f3e-8a00-7000-8000-00000000dead" } }

const sent = async ({ ask }: Stage): Promise<any> => ask("POST", "/v1/runs", later)

const ofSent = async (stage: Stage) => ({ params: { id: (await sent(stage)).id as string } })
const ofDead = async ({ ask, engine }: Stage) => {
  const { id } = await ask("POST", "/v1/runs", { job: "mail.doomed" })
  await until(
    "it is dead",
    () => engine.run(id),
    (run) => run?.state === "dead",
  )
  return { params: { id: id as string } }
}
const again = (verb: "retry" | "replay") => async (stage: Stage) => {
  const dead = await ofDead(stage)
  await stage.ask("POST", `/v1/runs/${dead.params.id}/${verb}`)
  return dead
}
const badCursor = { query: { cursor: "of another list" } }
const notFound = { gives: "notFound", ask: none } as const

export const examples: Examples<typeof runsApi> = {
  sendRun: [
    { gives: 201, ask: { body: later } },
    {
      gives: 200,
      ask: async ({ ask }) => {
        await ask("POST", "/v1/runs", { ...later, key: "daily" })
        return { body: { ...later, key: "daily" } }
      },
    },
    { gives: "invalidInput", ask: { body: { ...later, delay: "5 parsecs" } } },
    { gives: "invalidPayload", ask: { body: { ...later, input: { to: 7 } } } },
    { gives: "unknownJob", ask: { body: { job: "mail.novel" } } },
    {
      gives: "idTaken",
      ask: async ({ ask }) => {
        await ask("POST", "/v1/runs", { ...later, id })
        return { body: { ...later, id, input: { to: "bob@example.org" } } }
      },
    },
    { gives: "overloaded", ask: { body: later } },
  ],
  getRun: [
    { gives: 200, ask: ofSent },
    {
      gives: 200,
      ask: async (stage) => ({ ...(await ofDead(stage)), query: { include: "attempts,progress,explain" } }),
    },
    notFound,
  ],
  listRuns: [
    {
      gives: 200,
      ask: async (stage) => {
        await ofSent(stage)
        return { query: { state: "scheduled", limit: 2 } }
      },
    },
    { gives: "badCursor", ask: badCursor },
  ],
  sendRuns: [
    { gives: 200, ask: { body: { runs: [later, later] } } },
    { gives: "invalidInput", ask: { body: { runs: [later, { job: "mail.novel" }] } } },
    { gives: "overloaded", ask: {} },
  ],
  listAttempts: [
    { gives: 200, ask: ofDead },
    notFound,
    { gives: "badCursor", ask: async (stage) => ({ ...(await ofSent(stage)), ...badCursor }) },
  ],
  getRunLogs: [
    { gives: 200, ask: ofSent },
    notFound,
    { gives: "badCursor", ask: async (stage) => ({ ...(await ofSent(stage)), ...badCursor }) },
  ],
  explainRun: [{ gives: 200, ask: ofSent }, notFound],
  waitRun: [
    { gives: 200, ask: ofDead },
    { gives: 200, ask: async (stage) => ({ ...(await ofSent(stage)), query: { timeout: "1ms" } }) },
    { gives: "notFound", ask: none },
  ],
  cancelRun: [
    { gives: 200, ask: async (stage) => ({ ...(await ofSent(stage)), body: { reason: "not needed" } }) },
    notFound,
    { gives: "conflict", ask: ofDead },
  ],
  retryRun: [
    { gives: 201, ask: ofDead },
    { gives: 200, ask: again("retry") },
    notFound,
    { gives: "conflict", ask: ofSent },
  ],
  replayRun: [
    { gives: 201, ask: ofDead },
    { gives: 200, ask: again("replay") },
    notFound,
    { gives: "conflict", ask: ofSent },
  ],
}
