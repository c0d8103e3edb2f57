// Examples for the routes of dead letters and of bulk work.
import { job } from "uhrwerk"
import type { deadApi } from "../../../../apps/api/dead.ts"
import type { operationsApi } from "../../../../apps/api/operations.ts"
import { makeOperations } from "../../../../apps/server/Operations.ts"
import { until } from "../../server/project.ts"
import type { Examples, Stage } from "./Example.ts"

export const config = {
  jobs: [
    job("dead.doomed", {
      retry: { max: 1 },
      run: () => {
        throw new Error("customer 17 has no mailbox")
      },
    }),
  ],
}

/** A letter of its own. */
const letter = async ({ ask, engine }: Stage): Promise<string> => {
  const { id } = await ask("POST", "/v1/runs", { job: "dead.doomed" })
  await until(
    "it is dead",
    () => engine.run(id as string),
    (run) => run?.state === "dead",
  )
  return id as string
}
const ofLetter = async (stage: Stage) => ({ params: { id: await letter(stage) } })
const none = { params: { id: "01997f3e-8a00-7000-8000-00000000dead" } }
const notFound = { gives: "notFound", ask: none } as const
const badCursor = { gives: "badCursor", ask: { query: { cursor: "of another list" } } } as const
// Nothing has this name, so what is begun does nothing.
const letters = { filter: { job: "dead.none" } }
const bulk = (body: object) =>
  [
    { gives: 200, ask: { body: { ...body, dryRun: true } } },
    { gives: 202, ask: { body } },
    { gives: "invalidInput", ask: { body: { filter: {} } } },
  ] as const

const begun = async ({ ask }: Stage): Promise<string> =>
  (await ask("POST", "/v1/runs/cancel", { filter: { job: "dead.none" } })).id as string
/** One of the few that is begun, again and again: a hundred may be under way. */
let known: string | undefined
const ofKnown = async (stage: Stage) => ({ params: { id: (known ??= await begun(stage)) } })

export const examples: Examples<typeof deadApi & typeof operationsApi> = {
  listDeadLetters: [
    { gives: 200, ask: async (stage) => ({ query: { job: (await letter(stage)) && "dead.doomed" } }) },
    badCursor,
  ],
  groupDeadLetters: [{ gives: 200, ask: { query: { limit: 5 } } }],
  exportDeadLetters: [{ gives: 200, ask: { query: { job: "dead.doomed" } } }],
  replayDeadLetters: bulk({ ...letters, rate: "5/s" }),
  dropDeadLetters: bulk(letters),
  getDeadLetter: [{ gives: 200, ask: ofLetter }, notFound],
  replayDeadLetter: [
    { gives: 201, ask: ofLetter },
    {
      gives: 200,
      ask: async (stage) => {
        const ask = await ofLetter(stage)
        await stage.ask("POST", `/v1/dead-letters/${ask.params.id}/replay`)
        return ask
      },
    },
    notFound,
  ],
  dropDeadLetter: [{ gives: 204, ask: ofLetter }, notFound],
  cancelRuns: bulk({ filter: { job: "dead.none", state: "ready" } }),
  listOperations: [{ gives: 200, ask: {} }, badCursor],
  getOperation: [{ gives: 200, ask: ofKnown }, notFound],
  cancelOperation: [
    { gives: 202, ask: ofKnown },
    notFound,
    {
      gives: "conflict",
      ask: async (stage) => {
        const id = await begun(stage)
        const trouble = (doing: string, error: unknown): never => {
          throw new Error(doing, { cause: error })
        }
        // As a server does it.
        const operations = makeOperations({ store: stage.store, self: "contract", onTrouble: trouble })
        operations.start()
        await until(
          "it has ended",
          () => stage.ask("GET", `/v1/operations/${id}`),
          ({ endedAt }) => endedAt !== null,
        )
        await operations.stop()
        known = undefined
        return { params: { id } }
      },
    },
  ],
}
