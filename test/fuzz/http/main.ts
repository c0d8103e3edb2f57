// `npm run fuzz -- --requests N [--seed S] [--storage memory|sqlite] [--from K]`: sends N requests, made of the OpenAPI
// document and of the seed, to a server on each storage, and prints what was wrong, with its seed and number. Exit code 1
// if anything was. `--from K --requests 1` makes one of them again.
import { parseArgs } from "node:util"
import { fuzz } from "./fuzz.ts"

const text = { type: "string" } as const
const { values } = parseArgs({ options: { requests: text, seed: text, from: text, storage: text } })

const whole = (name: "requests" | "seed" | "from", usual: number): number => {
  const number = Number(values[name] ?? usual)
  if (Number.isSafeInteger(number) && number >= 0) return number
  console.error(`--${name} is no whole number`)
  process.exit(2)
}

const requests = whole("requests", 20_000)
const seed = whole("seed", 1)
const from = whole("from", 0)
let found = 0
for (const storage of ["memory", "sqlite"] as const) {
  if (values.storage !== undefined && values.storage !== storage) continue
  const begun = performance.now()
  const { statuses, succeeded, routes, slowestMillis, problems } = await fuzz({
    storage,
    requests,
    seed,
    from,
  })
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  const answers = Object.entries(statuses).map(([status, count]) => `${status} ${count}`)
  console.log(
    `${storage}: ${requests} requests of seed ${seed} in ${seconds} s, slowest ${Math.round(slowestMillis)} ms; ${succeeded} of ${routes} routes succeeded; ${answers.join(", ")}`,
  )
  for (const problem of problems) console.log(`  ${problem}`)
  found += problems.length
}
process.exitCode = found === 0 ? 0 : 1
