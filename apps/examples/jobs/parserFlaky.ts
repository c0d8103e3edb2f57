// A job that fails twice and then succeeds: it parses a file that a partner is still uploading. Each attempt
// asks the partner for the next of three parts, so the third attempt finds the file complete.
import { readFile } from "node:fs/promises"
import { every, job } from "uhrwerk"
import { figure, outputFile } from "../files.ts"
import { endLine, upload } from "../partner/feed.ts"
import { parseZones } from "../zones/ZoneFile.ts"

export const parserFlaky = job("parser.flaky", {
  on: every("10m"),
  // After 0.5 s, 1 s, 2 s, 4 s. Without `jitter: "none"` each delay would be drawn from zero up to that.
  retry: { max: 5, delay: "500ms", backoff: "exponential", jitter: "none" },
  timeout: "30s",
  run: async (_input, ctx) => {
    const file = await outputFile("feed.tab")
    const bytes = await upload(file, ctx.run.attempt)
    const text = await readFile(file, "utf8")
    if (!text.endsWith(`${endLine}\n`)) {
      const lines = text.split("\n")
      throw new Error(
        `feed.tab:${lines.length}: the line "${lines.at(-1)}" is cut off after ${figure(bytes)} bytes:` +
          " the upload is not complete",
      )
    }
    const zones = parseZones("feed.tab", text).length
    ctx.log(`attempt ${ctx.run.attempt}: the feed is complete, ${zones} zones in ${figure(bytes)} bytes`)
    return { file, bytes, zones, attempt: ctx.run.attempt }
  },
})
