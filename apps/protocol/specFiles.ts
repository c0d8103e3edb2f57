// Everything that is generated about the worker protocol, by its path below `core/protocol`.
import { specFiles } from "../../core/protocol/Spec.ts"
import { record } from "../../core/protocol/Transcript.ts"
import { introduction, scenarios } from "./scenarios.ts"

/** The generated files as text. */
export const generatedFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ...[...specFiles()].map(([name, text]) => [`spec/${name}`, text] as const),
    ...scenarios.map(({ stimuli, worker, ...given }) => {
      const transcript = record({ ...given, worker: { ...introduction, ...worker } }, stimuli)
      // One line of the conversation on each line of the file: a difference is then easy to read.
      const { lines, ...head } = transcript
      const body = lines.map((line) => `    ${JSON.stringify(line)}`).join(",\n")
      const text = `${JSON.stringify(head, null, 2).replace(/\n}$/, "")},\n  "lines": [\n${body}\n  ]\n}\n`
      return [`transcripts/${given.name}.json`, text] as const
    }),
  ])
