// A cron job: at each full minute, the samples of the minute before become one row.
import { cron, job } from "uhrwerk"
import { figure } from "../files.ts"
import { withMachineDb } from "../machine/MachineDb.ts"

const minuteMillis = 60_000

// A second run for the same minute replaces its row. Without samples there is no row.
const summarise = `
  insert or replace into minutes
  select ?, count(*), round(avg(load), 2), max(load), cast(avg(memory_used) as integer), max(memory_used)
  from samples where at >= ? and at < ? having count(*) > 0
  returning samples, load_average, load_max, memory_average, memory_max
`

export const machineSummary = job("machine.summary", {
  on: cron("* * * * *"),
  timeout: "10s",
  run: async (_input, ctx) => {
    // The schedule's instant and not the clock: a run that starts late still sums up its own minute.
    const until = Math.floor((ctx.run.nominalAt?.getTime() ?? Date.now()) / minuteMillis) * minuteMillis
    const from = until - minuteMillis
    const minute = new Date(from).toISOString().slice(0, 16)
    const row = await withMachineDb((db) => db.prepare(summarise).get(from, from, until))
    if (row === undefined) {
      ctx.log(`${minute}: no samples yet`)
      return { minute, samples: 0, note: "There are no samples of this minute yet" }
    }
    const [samples = 0, loadAverage = 0, loadMax = 0, memoryAverage = 0, memoryMax = 0] =
      Object.values(row).map(Number)
    ctx.log(
      `${minute}: ${samples} samples, load ${figure(loadAverage, 2)} on average, ${figure(loadMax, 2)} at most`,
    )
    return { minute, samples, loadAverage, loadMax, memoryAverage, memoryMax }
  },
})
