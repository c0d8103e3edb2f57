// `npm run spec`: writes the generated files of the worker protocol and of the HTTP API. A test fails while they differ
// from the code.
import { mkdirSync, writeFileSync } from "node:fs"
import { openApiText } from "../api/openapi.ts"
import { generatedFiles } from "./specFiles.ts"

const folder = new URL("../../core/protocol/", import.meta.url)
for (const name of ["spec", "transcripts"]) mkdirSync(new URL(name, folder), { recursive: true })
for (const [name, text] of generatedFiles()) writeFileSync(new URL(name, folder), text)
writeFileSync(new URL("../api/openapi.json", import.meta.url), openApiText())
