// Second job of the chain: positions in decimal degrees, today's offset of each zone, and sums.
import { job } from "uhrwerk"
import { outputFile, readJson, writeWhole } from "../files.ts"
import { zonesRead } from "./zonesRead.ts"
import type { Zone } from "../zones/ZoneFile.ts"
import { zoneTable } from "../zones/ZoneTable.ts"

export const zonesTransform = job("zones.transform", {
  needs: { read: zonesRead },
  timeout: "30s",
  run: async (_input, ctx) => {
    const table = zoneTable(await readJson<Array<Zone>>(ctx.needs.read.file), new Date())
    const file = await outputFile("zone-table.json")
    const bytes = await writeWhole(file, JSON.stringify(table))
    const { zones, perContinent, perCountry, perOffset } = table
    const unknown = zones.filter(({ offset }) => offset === null).length
    ctx.log(
      `${zones.length} zones in ${perCountry.length} countries, ${perOffset.length} offsets from UTC` +
        (unknown === 0 ? "" : `, ${unknown} zones unknown to this runtime`),
    )
    return {
      file,
      bytes,
      zones: zones.length,
      countries: perCountry.length,
      continents: Object.fromEntries(perContinent),
      unknown,
    }
  },
})
