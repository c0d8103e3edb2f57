// A delayed one-shot: the flow `zones` sends it with a delay of three seconds. It has a checked input, and tells
// by how much it was late.
import { appendFile } from "node:fs/promises"
import * as Schema from "effect/Schema"
import { job } from "uhrwerk"
import { outputFile } from "../files.ts"

export const welcomeLater = job("welcome.later", {
  // Any Standard Schema does, such as one of zod or valibot.
  input: Schema.Struct({ report: Schema.String, zones: Schema.Number }),
  run: async ({ report, zones }, ctx) => {
    const line = `Welcome! ${zones} zones are in ${report}. This run was due ${ctx.run.dueAt.toISOString()} and started ${ctx.run.late} ms late.`
    await appendFile(await outputFile("welcome.log"), `${line}\n`)
    ctx.log(line)
    return { line, lateMillis: ctx.run.late }
  },
})
