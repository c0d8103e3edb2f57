// The server under the fuzzer, in a process of its own: `server.child.ts STORAGE`. It says where it is, and at the word
// `look` what has become of it: whether it still does its work, and whether what it counts is what is there.
import { createInterface } from "node:readline"
import * as Schema from "effect/Schema"
import { cron, flow, job } from "../../../apps/sdk/mod.ts"
import { serve } from "../../../apps/server/mod.ts"

const [storage = "memory:"] = process.argv.slice(2)
const greet = job("greet", { run: ({ name }: { name?: string }) => `hello ${String(name)}` })
const double = job("double", { input: Schema.Struct({ n: Schema.Number }), run: ({ n }) => n * 2 })
const broken = job<unknown, void>("broken", {
  retry: { max: 2, delay: "10ms" },
  run: () => {
    throw new Error("'; DROP TABLE runs; --")
  },
})
const echo = job<unknown, unknown>("echo", { queue: "mail", run: (input) => input })
const daily = job("daily", { on: cron("0 9 * * *", { tz: "Europe/Berlin" }), run: () => 1 })
const pair = flow("pair", {}, (f) => {
  const one = f.step("one", { run: () => 1 })
  f.step("two", { needs: { one }, run: ({ one }) => one + 1 })
})
// Of no name that the requests have, so that nothing that they do is meant for it.
const calm = job<{ n: number }, number>("calm", { queue: "calm", run: ({ n }) => n + 1 })

const faults: Array<string> = []
const server = await serve(
  { jobs: [greet, double, broken, echo, daily, pair, calm], storage: storage as "memory:", poll: "50ms" },
  {
    port: 0,
    rate: null,
    onEvent: (event) => {
      if (event.kind === "trouble") faults.push(`${event.doing}: ${event.error}`)
    },
  },
)
console.log(JSON.stringify({ url: server.url }))

const pageSize = 200
const listed = async (): Promise<number> => {
  const ids = new Set<string>()
  for (let before: string | undefined; ;) {
    const page = await server.engine.runs({ limit: pageSize, ...(before === undefined ? {} : { before }) })
    for (const { id } of page) ids.add(id)
    before = page.at(-1)?.id
    if (page.length < pageSize || before === undefined) return ids.size
  }
}
const counted = async (): Promise<number> =>
  (await server.engine.counts()).reduce((sum, { count }) => sum + count, 0)

const look = async () => {
  const done = await (await server.engine.send(calm, { n: 41 })).result({ timeout: "20s" })
  // Flows may still make steps: a number that was the same before and after the list is that of the list.
  for (let tries = 1; ; tries++) {
    const [before, found, after] = [await counted(), await listed(), await counted()]
    if ((before === found && found === after) || tries === 20)
      return { done, counted: after, listed: found, faults }
  }
}
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "look")
    console.log(JSON.stringify(await look().catch((error: unknown) => ({ error: String(error) }))))
  else break
}
await server.stop({ grace: "2s" })
process.exit(0)
