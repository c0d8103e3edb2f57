// A process with two programs under way, one of which has a child of its own and heeds no SIGTERM. It says when they
// run, and ends as it is told: `kill`: by the test; `exit`: with `process.exit`; `stop`: in good order.
import { open, runOf, script } from "./programs.ts"

const mark = process.argv[2] as string
const how = process.argv[3]
const { runner, start, lines } = open()
const deaf = "trap '' TERM; (trap '' TERM; exec sleep 60.$0) & echo up; wait; sleep 60.$0"
start(
  { ...script(deaf, { pass: ["PATH"], killGrace: "300ms" }), args: ["-c", deaf, mark] },
  "null",
  runOf("r1"),
)
const plain = "echo up; exec sleep 60.$0"
start({ ...script(plain, { pass: ["PATH"] }), args: ["-c", plain, mark] }, "null", runOf("r2"))

const timer = setInterval(() => {
  if (lines.length < 2) return
  clearInterval(timer)
  console.log("up")
  if (how === "exit") process.exit(3)
  if (how === "stop") void runner.close().then(() => console.log("closed"))
}, 10)
