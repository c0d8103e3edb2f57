// Several processes over one MySQL database, as `uhrwerk serve` starts them, on every runtime that is here: work is shared,
// a node that is killed leaves nothing behind, one that is asked to stop hands over, and the
// command line looks at all of it from beside.
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { newRun } from "../../core/contract/Fixtures.ts"
import { makeIds } from "../../core/domain/Ids.ts"
import { mysqlDriver } from "../../plugins/store-mysql/mod.ts"
import { commandOf, eventually, inFolder, pause, root, runtimes } from "./children.ts"
import { install } from "../plugins/store-mysql/installed.ts"
import { databaseName, dropDatabases, missing, url } from "../plugins/store-mysql/server.ts"

const config = (folder: string, database: string): string => `
import { appendFileSync } from "node:fs"
import { defineConfig, every, job } from "uhrwerk"
import { mysqlStorage } from "uhrwerk-store-mysql"
const did = (job, ctx) => appendFileSync(${JSON.stringify(folder)} + "/did.txt", [process.pid, job, ctx.run.id].join(" ") + "\\n")
const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis))
export default defineConfig({
  storage: mysqlStorage({ url: ${JSON.stringify(url)}, database: ${JSON.stringify(database)} }),
  lease: "2s", poll: "200ms", worker: { concurrency: 4 },
  jobs: [
    job("beat", { on: every("1s"), run: (_, ctx) => did("beat", ctx) }),
    job("work", { run: async (_, ctx) => { await sleep(150); did("work", ctx) } }),
  ],
})
`

afterAll(dropDatabases)

test.skipIf(missing !== null)(
  `nodes on ${runtimes.join(", ")} share a database; one is killed, one is stopped, and nothing is lost or doubled${
    missing === null ? "" : ` (${missing})`
  }`,
  () =>
    inFolder(async (folder, start) => {
      const database = databaseName()
      const path = join(folder, "uhrwerk.config.mjs")
      install(folder)
      writeFileSync(path, config(folder, database))
      // The commands find the storage in the config file beside which they are run.
      const command = commandOf("node")
      const tool = (...words: ReadonlyArray<string>): string =>
        execFileSync(command[0] ?? "", [...command.slice(1), join(root, "apps/cli/main.ts"), ...words], {
          encoding: "utf8",
          cwd: folder,
        })
      expect(tool("migrate", "--plan")).toContain(`create database if not exists \`${database}\``)
      tool("migrate")
      expect(tool("migrate", "--plan")).toContain("nothing to do")
      const nodes = runtimes.map((runtime) => start(runtime, [join(root, "apps/cli/main.ts"), "serve", path]))
      const [first, ...others] = nodes
      for (const node of nodes) await node.until(/storage mysql/)
      const store = await mysqlDriver({ url, database })
      try {
        await eventually("all nodes are there", async () => {
          const live = await store.nodes()
          return live.length === nodes.length ? true : undefined
        })
        const ids = makeIds(
          () => Date.now(),
          () => (Math.random() * 2 ** 32) | 0,
        )
        const wanted = Array.from({ length: 80 }, () => ({ ...newRun(1), id: ids(), job: "work" }))
        await store.enqueue(wanted)
        await pause(600)
        first?.signal("SIGKILL")
        const last = others.at(-1)
        if (others.length > 1) last?.signal("SIGTERM")
        const ended = await eventually(
          "all work has ended",
          async () => {
            const rows = await store.get(wanted.map(({ id }) => id))
            return rows.every(({ state }) => state === "succeeded" || state === "dead") ? rows : undefined
          },
          30_000,
        )
        expect(ended.map(({ state }) => state)).toEqual(wanted.map(() => "succeeded"))
        // An attempt more only where the killed node had begun one.
        const again = ended.filter(({ attempt }) => attempt > 1)
        expect(again.length).toBeLessThanOrEqual(4)
        for (const { id } of again) {
          const [lost, ...more] = await store.attempts(id)
          expect([lost?.error.kind, more.length]).toEqual(["lost", 0])
        }
        if (others.length > 1) expect(await last?.ended()).toBe(0)
        const listed = JSON.parse(tool("node", "list", "-o", "json")) as ReadonlyArray<{ state: string }>
        expect(listed.filter(({ state }) => state === "live")).toHaveLength(Math.max(1, nodes.length - 2))
        expect(tool("run", "list", "--job", "work", "--limit", "1")).toContain("succeeded")
        // Each process that was not killed at once has done its part.
        const done = readFileSync(join(folder, "did.txt"), "utf8").split("\n")
        for (const { pid } of nodes) expect(done.some((line) => line.startsWith(`${pid} `))).toBe(true)
      } finally {
        for (const node of nodes) node.signal("SIGTERM")
        await Promise.all(nodes.map((node) => node.ended()))
        const rows = await store.occurrences({ scheduleId: "beat", limit: 200 })
        await store.close()
        const beats = readFileSync(join(folder, "did.txt"), "utf8")
          .split("\n")
          .filter((line) => line.includes(" beat "))
        // Every second has one row, none two, and what has a run ran once.
        const instants = rows.map(({ at }) => at)
        expect(new Set(instants).size).toBe(instants.length)
        const steps = instants.slice(1).map((at, place) => (instants[place] ?? 0) - at)
        expect(rows.filter(({ count }) => count === 1).length).toBeGreaterThan(2)
        expect(steps.every((step) => step % 1000 === 0)).toBe(true)
        expect(new Set(beats.map((line) => line.split(" ")[2])).size).toBe(beats.length)
      }
    }),
)
