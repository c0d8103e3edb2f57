// Examples for the routes of runs.
import * as Schema from "effect/Schema"
import { job } from "uhrwerk"
import type { runsApi } from "../../../../apps/api/runs.ts"
import type { Examples, Stage } from "./Example.ts"

export const config = {
  jobs: [
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
    { gives: 200, ask: async (stage) => ({ params: { id: (await sent(stage)).id } }) },
    { gives: "notFound", ask: none },
  ],
}
