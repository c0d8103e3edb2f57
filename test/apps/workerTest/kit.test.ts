// Around the cases: the command line, what it says of a worker that fails, and that every case names a place of the
// published page.
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import {
  allCases,
  groups,
  launchCommand,
  type Report,
  testWorker,
  wordsOf,
} from "../../../apps/worker-test/mod.ts"
import { jobs } from "../../../apps/worker-test/jobs.ts"
import { inProcess } from "../cli/cli.ts"

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8")
const python = "\"import sys; sys.exit('no such server')\""

test("every case has an id of its own and names a rule or a heading of the protocol's page", () => {
  const page = read("core/protocol/README.md")
  const headings = new Set([...page.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading))
  const rules = new Set([...page.matchAll(/^(\d+)\. /gm)].map(([, number]) => `rule ${number}`))
  expect(allCases.filter(({ see }) => !headings.has(see) && !rules.has(see))).toEqual([])
  expect(new Set(allCases.map(({ id }) => id)).size).toBe(allCases.length)
  expect(groups.filter((group) => !allCases.some(({ id }) => id.startsWith(`${group}.`)))).toEqual([])
})

test("its page names the jobs and the variables, and counts the points", () => {
  const page = read("apps/worker-test/README.md")
  expect(jobs.filter((job) => !page.includes(`| \`${job}\` |`))).toEqual([])
  const points = allCases.reduce((sum, each) => sum + each.points, 0)
  expect(page).toContain(`${points} points`)
  const variables = [...read("apps/worker-test/Stage.ts").matchAll(/UHRWERK_\w+/g)].map(([name]) => name)
  expect(variables.length).toBeGreaterThan(5)
  expect(variables.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})

test.each([
  ["python3 worker.py", ["python3", "worker.py"]],
  [`a "b c" 'd "e"' f\\ g`, ["a", "b c", 'd "e"', "f g"]],
  [`a"b"c --x='y z'`, ["abc", "--x=y z"]],
  [`"a \\"b\\""`, ['a "b"']],
  ["", null],
  ["a 'b", null],
])("words of %s", (command, words) => expect(wordsOf(command)).toEqual(words))

test("a worker that ends at once has lost everything, soon, and the command says what it wrote", async () => {
  const begin = performance.now()
  const { code, stdout } = await inProcess(
    ["worker-test", "--cmd", `${process.execPath} --no-such-option`],
    ".",
  )
  expect(code).toBe(1)
  expect(stdout).toMatch(/the process ended with code \d+/)
  expect(stdout).toMatch(/no-such-option/)
  expect(stdout).toMatch(/^0 of \d+ points in \d+ s \(the worker never said hello\)$/m)
  expect(performance.now() - begin).toBeLessThan(15_000)
})

test("a program that is not there is said", async () => {
  const report = await testWorker({ launch: launchCommand(["/no/such/program"]), only: ["core"] })
  expect(report).toMatchObject({ points: 0, runtime: null })
  expect(report.cases.flatMap(({ lost }) => lost?.output ?? []).join()).toContain("ENOENT")
})

test("--json is the report, and --only and --case say what is asked", async () => {
  const { code, stdout } = await inProcess(
    [
      "worker-test",
      "--cmd",
      `python3 -c ${python}`,
      "--only",
      "core,wire",
      "--case",
      "core.hello,polite.drain",
      "--json",
    ],
    ".",
  )
  const report = JSON.parse(stdout) as Report
  expect(code).toBe(1)
  expect(report.cases.map(({ id, ok }) => [id, ok])).toEqual([["core.hello", false]])
})

test.each([
  [[], /--cmd says how/],
  [["--cmd", "'a"], /--cmd says how/],
  [["--cmd", "a", "--only", "cores"], /--only cores is none of core, reliable, polite, wire/],
  [["--cmd", "a", "--case", "core.no"], /--case core\.no is none of core\.connect/],
  [["worker.py", "--cmd", "a"], /takes no argument/],
])("a wrong command line: %j", async (args, text) => {
  const { code, stderr } = await inProcess(["worker-test", ...args], ".")
  expect(code).toBe(2)
  expect(stderr).toMatch(text)
})
