// A job that fails for good: its file has a damaged line, and no further attempt would mend it. The run is dead
// at once, and waits among the dead letters until somebody mends the file and replays it.
import { readFile } from "node:fs/promises"
import { every, job, NonRetryable } from "uhrwerk"
import { dataFile } from "../files.ts"
import { CorruptLine, parseZones } from "../zones/ZoneFile.ts"

const source = "zones-damaged.tab"

export const parserBroken = job("parser.broken", {
  on: every("1h"),
  // Five attempts are allowed; `NonRetryable` uses one.
  retry: { max: 5 },
  timeout: "30s",
  run: async (_input, ctx) => {
    try {
      const zones = parseZones(source, await readFile(dataFile(source), "utf8")).length
      ctx.log(`${source} is whole again: ${zones} zones`)
      return { source, zones }
    } catch (error) {
      if (error instanceof CorruptLine) throw new NonRetryable(error.message, { cause: error })
      throw error
    }
  },
})
