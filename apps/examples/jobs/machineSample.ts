// A cron job with seconds: every five seconds a sample of this machine goes into a SQLite table.
import { cron, job } from "uhrwerk"
import { figure } from "../files.ts"
import { samplesMax, withMachineDb } from "../machine/MachineDb.ts"
import { sampleMachine } from "../machine/sampleMachine.ts"

export const machineSample = job("machine.sample", {
  // Six fields: the first one is the second.
  on: cron("*/5 * * * * *"),
  timeout: "10s",
  run: async (_input, ctx) => {
    const sample = await sampleMachine()
    const { at, load, memoryUsed, memoryTotal, diskUsed, diskTotal } = sample
    await withMachineDb((db) => {
      // One row for a run, also when the run is tried again after a crash.
      db.prepare(`
        insert into samples (run_id, at, load, memory_used, memory_total, disk_used, disk_total)
        values (?, ?, ?, ?, ?, ?, ?)
        on conflict (run_id) do update set at = excluded.at, load = excluded.load,
          memory_used = excluded.memory_used, disk_used = excluded.disk_used
      `).run(ctx.run.id, at, load, memoryUsed, memoryTotal, diskUsed, diskTotal)
      db.prepare("delete from samples where id <= (select max(id) from samples) - ?").run(samplesMax)
    })
    ctx.log(
      `load ${figure(load, 2)}, memory ${share(memoryUsed, memoryTotal)}, disk ${share(diskUsed, diskTotal)}`,
    )
    return sample
  },
})

const gibibyte = 2 ** 30

const share = (used: number, total: number): string =>
  `${figure(used / gibibyte, 1)} of ${figure(total / gibibyte, 1)} GiB`
