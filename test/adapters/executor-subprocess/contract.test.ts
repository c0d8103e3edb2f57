// Programs keep every promise of an executor.
import { afterAll, expect, test } from "vitest"
import type { Command } from "../../../adapters/executor-subprocess/mod.ts"
import { type ExecutorJob, executorContract, runExecutorCase } from "../../../core/testing.ts"
import { type DescribedJob, workExecutor } from "../../../core/ports/Executors.ts"
import { command, open, script } from "./programs.ts"

const commands: Record<ExecutorJob, Command> = {
  echo: command("cat", [], { output: "json" }),
  nothing: command("true"),
  large: script('read -r length; head -c "$length" /dev/zero | tr "\\0" x', {
    output: "text",
    pass: ["PATH"],
  }),
  fail: script("echo broken >&2; exit 1"),
  fatal: script("exit 65"),
  later: script("echo 90s; exit 75"),
  slow: script("exec sleep 60", { pass: ["PATH"] }),
  late: script("trap '' TERM; sleep 0.3; echo '\"late\"'", { output: "json", pass: ["PATH"] }),
}

const { runner, troubles } = open()
const jobs = new Map<string, DescribedJob<Command>>(
  Object.entries(commands).map(([name, spec]) => [name, { spec }]),
)
const executor = workExecutor(runner, jobs)
afterAll(async () => {
  await runner.close()
  expect(troubles).toEqual([])
})

for (const each of executorContract) test(`subprocess > ${each.name}`, () => runExecutorCase(each, executor))
