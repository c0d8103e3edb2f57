// Last job of the chain: starting it starts the two before. Writes the page, and sends a run for later.
import { every, job } from "uhrwerk"
import { figure, outputFile, readJson, writeWhole } from "../files.ts"
import { zoneReport } from "../zones/zoneReport.ts"
import type { ZoneTable } from "../zones/ZoneTable.ts"
import { welcomeLater } from "./welcomeLater.ts"
import { zonesTransform } from "./zonesTransform.ts"

export const zonesReport = job("zones.report", {
  on: every("10m"),
  needs: { table: zonesTransform },
  timeout: "30s",
  run: async (_input, ctx) => {
    const { file, zones, countries, continents } = ctx.needs.table
    const path = await outputFile("zones.md")
    const bytes = await writeWhole(path, zoneReport(await readJson<ZoneTable>(file)))
    ctx.log(`${path}: ${zones} zones, ${figure(bytes)} bytes`)
    // The key keeps it to one waiting run, also when this attempt is repeated after a crash.
    const later = await welcomeLater.send({ report: path, zones }, { delay: "3s", key: "welcome" })
    return { path, bytes, zones, countries, continents, welcome: later.id }
  },
})
