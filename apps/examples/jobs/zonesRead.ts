// First job of the chain: reads and checks the IANA file, and writes its zones as JSON for the next job.
import { readFile } from "node:fs/promises"
import { job, NonRetryable } from "uhrwerk"
import { dataFile, figure, outputFile, writeWhole } from "../files.ts"
import { CorruptLine, parseZones } from "../zones/ZoneFile.ts"

const source = "zone1970.tab"

export const zonesRead = job("zones.read", {
  timeout: "30s",
  run: async (_input, ctx) => {
    const text = await readFile(dataFile(source), "utf8")
    try {
      const zones = parseZones(source, text)
      const file = await outputFile("zones.json")
      const bytes = await writeWhole(file, JSON.stringify(zones))
      ctx.log(`${zones.length} zones read from ${source}, ${figure(bytes)} bytes of JSON written`)
      // Outputs are kept in the database, 256 KiB at most: data goes into a file, and where it is into the output.
      return { source, file, bytes, zones: zones.length }
    } catch (error) {
      // The file will be as wrong at the next attempt.
      if (error instanceof CorruptLine) throw new NonRetryable(error.message, { cause: error })
      throw error
    }
  },
})
