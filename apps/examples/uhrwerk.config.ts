// The example project: eight jobs that show what Uhrwerk does, with real work on real input. See README.md.
import { defineConfig } from "uhrwerk"
import { machineSample } from "./jobs/machineSample.ts"
import { machineSummary } from "./jobs/machineSummary.ts"
import { parserBroken } from "./jobs/parserBroken.ts"
import { parserFlaky } from "./jobs/parserFlaky.ts"
import { welcomeLater } from "./jobs/welcomeLater.ts"
import { zonesRead } from "./jobs/zonesRead.ts"
import { zonesReport } from "./jobs/zonesReport.ts"
import { zonesTransform } from "./jobs/zonesTransform.ts"

export default defineConfig({
  jobs: [
    machineSample,
    machineSummary,
    zonesRead,
    zonesTransform,
    zonesReport,
    welcomeLater,
    parserFlaky,
    parserBroken,
  ],
  // In the current directory, unless the environment names another file.
  storage: `sqlite:${process.env["UHRWERK_EXAMPLE_DB"] ?? "uhrwerk.db"}`,
  // A sample every five seconds makes 17,280 runs a day.
  retention: "2d",
})
