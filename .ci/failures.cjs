// What the suites' reports say. `files REPORT`: the files with failed tests, at most ten, nothing if there are more or a
// file did not load: then it is no matter of chance. `sum FOLDER PARTS`: names every failure, counts, and is the verdict.
const { existsSync, readFileSync } = require("node:fs")
const path = require("node:path")

const read = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined)
const broken = (report) => report.testResults.filter(({ status }) => status === "failed")

const files = (file) => {
  const report = read(file)
  if (report === undefined) return ""
  const failed = broken(report)
  const loaded = failed.every(({ assertionResults }) =>
    assertionResults.some(({ status }) => status === "failed"),
  )
  return loaded && failed.length <= 10
    ? failed.map(({ name }) => path.relative(process.cwd(), name)).join(" ")
    : ""
}

const tell = (name, report) => {
  for (const { name: file, message, assertionResults } of broken(report)) {
    const tests = assertionResults.filter(({ status }) => status === "failed")
    const where = path.relative(process.cwd(), file)
    if (tests.length === 0) console.log(`${name}: ${where}: ${message}`)
    for (const { fullName, failureMessages } of tests) {
      const lines = failureMessages.join("\n").split("\n")
      const own = lines.filter(
        (line) => !/^\s+at /.test(line) || !/node_modules|<anonymous>|native/.test(line),
      )
      console.log([`${name}: ${where}: ${fullName}`, ...own.slice(0, 12)].join("\n  "))
    }
  }
}

const sum = (folder, partsFailed) => {
  const total = { passed: 0, failed: 0 }
  let isBroken = Number(partsFailed) > 0
  for (const name of ["test", "test-bun", "test-deno"]) {
    const report = read(`${folder}/${name}.json`)
    // A suite that wrote no report, or ran no test, is a failure too: silence must not look like success.
    if (report === undefined || report.numPassedTests === 0) {
      console.log(`${name}: no test passed`)
      isBroken = true
      continue
    }
    const again = read(`${folder}/${name}.json.again`)
    total.passed += report.numPassedTests
    if (report.numFailedTests > 0) tell(again === undefined ? name : `${name}, in the crowd`, report)
    if (again !== undefined && again.numFailedTests > 0) tell(`${name}, by itself`, again)
    const { numFailedTests } = again?.success === true ? { numFailedTests: 0 } : report
    total.failed += numFailedTests
    total.passed += report.numFailedTests - numFailedTests
  }
  console.log(`${total.passed} passed, ${total.failed} failed`)
  process.exitCode = isBroken ? 1 : 0
}

const [task, ...rest] = process.argv.slice(2)
if (task === "files") console.log(files(...rest))
else sum(...rest)
