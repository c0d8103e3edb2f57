// The example project: a flow and five jobs that show what Uhrwerk does, with real work on real input. See README.md.
import { defineConfig } from "uhrwerk"
import { zones } from "./flows/zones.ts"
import { machineSample } from "./jobs/machineSample.ts"
import { machineSummary } from "./jobs/machineSummary.ts"
import { parserBroken } from "./jobs/parserBroken.ts"
import { parserFlaky } from "./jobs/parserFlaky.ts"
import { welcomeLater } from "./jobs/welcomeLater.ts"

export default defineConfig({
  jobs: [machineSample, machineSummary, zones, welcomeLater, parserFlaky, parserBroken],
  // In the current directory, unless the environment names another file.
  storage: `sqlite:${process.env["UHRWERK_EXAMPLE_DB"] ?? "uhrwerk.db"}`,
  // A sample every five seconds makes 17,280 runs a day.
  retention: "2d",
})
