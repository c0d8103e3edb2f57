// A cron job: every 15 seconds, the samples of the 15 seconds before become one row.
import { cron, job } from "uhrwerk"
import { figure } from "../files.ts"
import { withMachineDb } from "../machine/MachineDb.ts"

const spanMillis = 15_000

// A second run for the same span replaces its row. Without samples there is no row.
const summarise = `
  insert or replace into summaries
  select ?, count(*), round(avg(load), 2), max(load), cast(avg(memory_used) as integer), max(memory_used)
  from samples where at >= ? and at < ? having count(*) > 0
  returning samples, load_average, load_max, memory_average, memory_max
`

export const machineSummary = job("machine.summary", {
  on: cron("*/15 * * * * *"),
  timeout: "10s",
  run: async (_input, ctx) => {
    // The schedule's instant and not the clock: a run that starts late still sums up its own span.
    const until = Math.floor((ctx.run.nominalAt?.getTime() ?? Date.now()) / spanMillis) * spanMillis
    const from = until - spanMillis
    const since = `${new Date(from).toISOString().slice(0, 19)}Z`
    const row = await withMachineDb((db) => db.prepare(summarise).get(from, from, until))
    if (row === undefined) {
      ctx.log(`${since}: no samples yet`)
      return { since, samples: 0, note: "There are no samples of this span yet" }
    }
    const [samples = 0, loadAverage = 0, loadMax = 0, memoryAverage = 0, memoryMax = 0] =
      Object.values(row).map(Number)
    ctx.log(
      `${since}: ${samples} samples, load ${figure(loadAverage, 2)} on average, ${figure(loadMax, 2)} at most`,
    )
    return { since, samples, loadAverage, loadMax, memoryAverage, memoryMax }
  },
})
