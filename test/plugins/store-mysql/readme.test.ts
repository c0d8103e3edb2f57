// The example in the plugin's README does what it says, as it stands, with the packages as an application has them.
import { execFile } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, expect, test } from "vitest"
import { inFolder, root } from "../../chaos/children.ts"
import { install } from "./installed.ts"
import { databaseName, dropDatabases, missing, url } from "./server.ts"

afterAll(dropDatabases)

const text = readFileSync(join(root, "plugins/store-mysql/README.md"), "utf8")
const [example, ...others] = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code as string)

test.skipIf(missing !== null)(`the example runs${missing === null ? "" : ` (${missing})`}`, () =>
  inFolder(async (folder) => {
    expect(others).toEqual([])
    install(folder)
    const file = join(folder, "example.ts")
    writeFileSync(file, example ?? "")
    const args = process.versions["deno"] === undefined ? [file] : ["run", "-A", file]
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      timeout: 30_000,
      cwd: root,
      env: { ...process.env, MYSQL_URL: `${url}/${databaseName()}` },
    })
    expect(stdout).toBe('"good morning"\n')
  }),
)
