// What goes wrong with programs, and what somebody may try through them. Each test leaves nothing behind.
import { spawn } from "node:child_process"
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, describe, expect, test } from "vitest"
import { aliveWith, childrenOf, command, open, runOf, script, until } from "./programs.ts"

const { runner, lines, troubles, start } = open()
const path = { pass: ["PATH"] }
const folder = mkdtempSync(join(tmpdir(), "uhrwerk-test-"))
afterEach(() => {
  lines.length = 0
  delete process.env["UHRWERK_TEST_SECRET"]
})
afterAll(async () => {
  await runner.close()
  rmSync(folder, { recursive: true, force: true })
  expect(troubles).toEqual([])
})

// Of each test's own programs, to find them in the list of processes.
let marks = 0
const newMark = (): string => `${process.pid}${String(marks++).padStart(4, "0")}`

describe("input and arguments", () => {
  const nasty = ["; touch x", "$(touch x)", "`touch x`", "a\nb", "--output=x", "' \" \\", "*", "~", "", "-"]

  test("each argument arrives as it is, whatever is in it", async () => {
    const show = command("/bin/sh", ["-c", 'printf "%s\\0" "$@"', "show", ...nasty], { output: "text" })
    const outcome = await start({ ...show, cwd: folder }).outcome
    expect(outcome).toEqual({ kind: "succeeded", output: JSON.stringify(`${nasty.join("\0")}\0`) })
    expect(readdirSync(folder)).toEqual([])
  })

  test("arguments are made of the input by a function, each one argument", async () => {
    const args = (input: { words: ReadonlyArray<string> }) => [
      "-c",
      'printf "%s|" "$@"',
      "show",
      ...input.words,
    ]
    const outcome = await start(
      command("/bin/sh", args, { output: "text" }),
      JSON.stringify({ words: nasty }),
    ).outcome
    expect(outcome).toEqual({ kind: "succeeded", output: JSON.stringify(`${nasty.join("|")}|`) })
  })

  test.each([
    ["a zero byte", () => ["a\0b"], "text without a zero byte"],
    ["a number", () => [5] as unknown as Array<string>, "text without a zero byte"],
    ["a text", () => "rm -rf" as unknown as Array<string>, "a list"],
    ["a promise", () => Promise.resolve([]) as unknown as Array<string>, "a list"],
  ])("%s as an argument is refused, without retry", async (_what, args, reason) => {
    const outcome = await start(command("/bin/sh", args)).outcome
    expect(outcome).toMatchObject({ kind: "failed", retryable: false, error: { kind: "payload" } })
    expect(outcome).toMatchObject({ error: { message: expect.stringContaining(reason) } })
  })

  test("what the function of the arguments throws is the error of the attempt", async () => {
    const args = (): never => {
      throw new RangeError("no such day")
    }
    const outcome = await start(command("/bin/sh", args)).outcome
    expect(outcome).toMatchObject({
      kind: "failed",
      retryable: true,
      error: { name: "RangeError", message: "no such day" },
    })
  })

  test("the input is on stdin, and a program need not read it", async () => {
    const text = JSON.stringify("$(touch x); `touch x`\n' \" ".repeat(5000))
    expect(await start(command("cat", [], { output: "json" }), text).outcome).toEqual({
      kind: "succeeded",
      output: text,
    })
    expect(await start(command("true"), JSON.stringify("x".repeat(250_000))).outcome).toMatchObject({
      kind: "succeeded",
    })
  })

  test("too many arguments fail without retry", async () => {
    const outcome = await start(command("/bin/true", ["x".repeat(3_000_000)])).outcome
    expect(outcome).toMatchObject({ kind: "failed", retryable: false, error: { name: "NotStarted" } })
  })
})

describe("the environment", () => {
  test("holds what is named, what is ours, and nothing else", async () => {
    process.env["UHRWERK_TEST_SECRET"] = "hush"
    const run = runOf("r1", { nominalAt: 1_800_000_000_000 })
    const own = { MODE: "fast", PATH_OF_MINE: "a b\n$(c)" }
    const outcome = await start(
      command("/usr/bin/env", ["-0"], { output: "text", env: own, pass: ["HOME", "NO_SUCH_NAME"] }),
      "null",
      run,
    ).outcome
    const text = JSON.parse((outcome as { output: string }).output) as string
    const names = Object.fromEntries(
      text
        .split("\0")
        .filter((each) => each !== "")
        .map((each) => [each.slice(0, each.indexOf("=")), each.slice(each.indexOf("=") + 1)]),
    )
    expect(names).toEqual({
      ...own,
      ...(process.env["HOME"] === undefined ? {} : { HOME: process.env["HOME"] }),
      UHRWERK_RUN_ID: "r1",
      UHRWERK_JOB: "report",
      UHRWERK_ATTEMPT: "2",
      UHRWERK_ATTEMPT_MAX: "3",
      UHRWERK_TOKEN: "7",
      UHRWERK_DUE_AT: "2027-01-15T08:00:00.000Z",
      UHRWERK_NOMINAL_AT: "2027-01-15T08:00:00.000Z",
    })
  })

  test("a job's own PATH does not choose the program", async () => {
    const fake = join(folder, "cat")
    writeFileSync(fake, "#!/bin/sh\necho '\"fake\"'\n")
    chmodSync(fake, 0o755)
    const outcome = await start(
      command("cat", [], { output: "json", env: { PATH: folder }, cwd: folder }),
      "1",
    ).outcome
    expect(outcome).toEqual({ kind: "succeeded", output: "1" })
    rmSync(fake)
  })
})

describe("programs that do not start", () => {
  test.each([
    ["a name that is nowhere", command("no-such-program-here"), "ENOENT"],
    ["a path that is nowhere", command("/no/such/program"), "ENOENT"],
    ["a file that may not be executed", command("/etc/passwd"), "EACCES"],
    ["a folder", command("/tmp"), "ENOENT"],
    ["a folder to run in that is not there", command("true", [], { cwd: "/no/such/folder" }), "cwd"],
  ])("%s", async (_what, spec, reason) => {
    const outcome = await start(spec).outcome
    expect(outcome).toMatchObject({ kind: "failed", retryable: true, error: { name: "NotStarted" } })
    expect(outcome).toMatchObject({ error: { message: expect.stringContaining(reason) } })
  })

  test("a file that is no program", async () => {
    const file = join(folder, "noise")
    writeFileSync(file, "\u0001\u0002\u0003\u0000")
    chmodSync(file, 0o755)
    expect(await start(command(file)).outcome).toMatchObject({ kind: "failed" })
    rmSync(file)
  })
})

describe("what it says", () => {
  test("lines of both streams are logged, without what is the output", async () => {
    const text = "echo one; echo two >&2; sleep 0.1; echo three; echo; echo '{\"rows\":3}'; echo"
    const outcome = await start(script(text, { ...path, output: "json" })).outcome
    expect(outcome).toEqual({ kind: "succeeded", output: '{"rows":3}' })
    expect([...lines].sort()).toEqual(["one", "three", "two"])
  })

  test("without success the last line is logged too, and the error has the last line of stderr", async () => {
    const outcome = await start(
      script("echo one; echo trace >&2; echo 'it broke' >&2; exit 3", { output: "json" }),
    ).outcome
    expect([...lines].sort()).toEqual(["it broke", "one", "trace"])
    expect(outcome).toMatchObject({
      kind: "failed",
      retryable: true,
      error: {
        name: "ProgramFailed",
        message: '"/bin/sh" ended with exit code 3: it broke',
        stack: "trace\nit broke",
      },
    })
  })

  test("what is no JSON is no output, and is not tried again", async () => {
    const outcome = await start(script("echo done", { output: "json" })).outcome
    expect(outcome).toMatchObject({ kind: "failed", retryable: false, error: { kind: "payload" } })
    expect(outcome).toMatchObject({ error: { message: expect.stringContaining('is no JSON: "done"') } })
  })

  test("characters that arrive in pieces, and bytes that are none", async () => {
    const text = "printf '\\303'; sleep 0.1; printf '\\274ber\\n\\377\\n'"
    await start(script(text, path)).outcome
    expect(lines).toEqual(["über", "\ufffd"])
  })

  test("lines are cut, and only so many are logged", async () => {
    const text = "head -c 1000000 /dev/zero | tr '\\0' x; echo; seq 100000"
    const outcome = await start(script(text, { ...path, logMax: 50 })).outcome
    expect(outcome).toEqual({ kind: "succeeded", output: null })
    expect(lines).toHaveLength(51)
    expect(lines[0]).toBe("x".repeat(2048))
    expect(lines[49]).toBe("49")
    expect(lines[50]).toBe("More than 50 lines: the rest is left out")
  })

  test("a gigabyte fills no memory", async () => {
    const before = process.memoryUsage().rss
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss)
    }, 20)
    const flood = "head -c 500000000 /dev/zero; yes | head -c 500000000; echo; echo 5"
    const outcome = await start(script(flood, { ...path, output: "json", logMax: 10 })).outcome
    clearInterval(watch)
    expect(outcome).toEqual({ kind: "succeeded", output: "5" })
    // Some runtimes free late what they have read.
    expect(peak - before).toBeLessThan(400_000_000)
  })

  test("text that is too long ends the program at once, without retry", async () => {
    const mark = newMark()
    const outcome = await start(
      script("yes; exec sleep 60.$1", { ...path, output: "text", outputMax: 1000 }, mark),
    ).outcome
    expect(outcome).toMatchObject({ kind: "failed", retryable: false, error: { kind: "payload" } })
    expect(aliveWith(`60.${mark}`)).toEqual([])
  })
})

describe("exit codes and signals", () => {
  test.each([
    ["exit 1", {}, true, null],
    ["exit 65", {}, false, null],
    ["exit 2", { fatalExits: [2, 3] }, false, null],
    ["exit 65", { fatalExits: [] }, true, null],
    ["echo 2m; exit 75", {}, true, 120_000],
    ["echo soon; exit 75", {}, true, null],
    ["exit 75", {}, true, null],
    ["echo 5s; exit 9", { laterExits: [9] }, true, 5000],
    ["echo 2m; exit 1", {}, true, null],
    ["kill -SEGV $$", {}, true, null],
  ])("%s %j", async (text, options, retryable, retryAfterMillis) => {
    const outcome = await start(script(text, options)).outcome
    expect(outcome).toMatchObject({ kind: "failed", retryable, retryAfterMillis })
  })

  test("a signal is named", async () => {
    const outcome = await start(script("kill -SEGV $$")).outcome
    expect(outcome).toMatchObject({ error: { message: '"/bin/sh" ended with SIGSEGV' } })
  })
})

describe("the end of a group", () => {
  test("a grandchild that heeds no SIGTERM ends with the grace", async () => {
    const mark = newMark()
    const text = "trap '' TERM; (trap '' TERM; exec sleep 60.$1) & echo up; wait; sleep 60.$1"
    const { started, outcome } = start(script(text, { ...path, killGrace: "300ms" }, mark))
    await until("it is up", () => lines.length > 0)
    const from = performance.now()
    started.stop("timeout")
    expect(await outcome).toMatchObject({ kind: "failed", error: { kind: "timeout" } })
    expect(performance.now() - from).toBeGreaterThan(250)
    expect(aliveWith(`60.${mark}`)).toEqual([])
  })

  test("however many they are, and whatever they start meanwhile", async () => {
    const mark = newMark()
    const text = `trap '' TERM
i=0
while [ $i -lt 40 ]; do
  (trap '' TERM; while :; do sleep 60.$1 & wait; done) &
  i=$((i+1))
done
echo up
while :; do (sleep 60.$1 & wait) & sleep 0.05; done`
    const { started, outcome } = start(script(text, { ...path, killGrace: "200ms" }, mark))
    await until("they are up", () => aliveWith(`60.${mark}`).length >= 40)
    started.stop("cancelled")
    await outcome
    await until("they are gone", () => aliveWith(mark).length === 0)
  })

  test("SIGTERM comes first, and may be heeded", async () => {
    const text = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    const { started, outcome } = start(script(text, path))
    await until("it is up", () => lines.length > 0)
    started.stop("cancelled")
    await outcome
    expect(lines).toContain("bye")
  })

  test("a run that is handed on has half a second at most", async () => {
    const mark = newMark()
    const text = "trap '' TERM; echo up; while :; do sleep 60.$1; done"
    const { started, outcome } = start(script(text, { ...path, killGrace: "30s" }, mark))
    await until("it is up", () => lines.length > 0)
    started.stop("leaseLost")
    const ended = { isOver: false }
    void outcome.then(() => {
      ended.isOver = true
    })
    await until("it is over", () => ended.isOver)
    expect(aliveWith(`60.${mark}`)).toEqual([])
  })

  test("what a program leaves running ends with it", async () => {
    const mark = newMark()
    const outcome = await start(script("sleep 60.$1 & echo started", path, mark)).outcome
    expect(outcome).toEqual({ kind: "succeeded", output: null })
    await until("it is gone", () => aliveWith(`60.${mark}`).length === 0)
  })

  test("something that left the group and holds its pipes does not hold the attempt", async () => {
    const mark = newMark()
    const outcome = await start(
      script("setsid sleep 8.$1 & sleep 0.2; echo 5", { ...path, output: "json" }, mark),
    ).outcome
    expect(outcome).toEqual({ kind: "succeeded", output: "5" })
    const left = aliveWith(`8.${mark}`)
    expect(left).toHaveLength(1)
    for (const { pid } of left) process.kill(pid, "SIGKILL")
  })

  test("a later attempt of the same run ends the earlier one before it begins", async () => {
    const mark = newMark()
    const deaf = start(script("trap '' TERM; echo up; sleep 60.$1; sleep 60.$1", path, mark))
    await until("it is up", () => lines.length > 0)
    deaf.started.stop("timeout")
    const next = start(script("echo $1-next; cat", { output: "json" }, mark), "5")
    // In this turn nobody can have heard of an end, so nothing has begun.
    expect(aliveWith(mark).map(({ args }) => args.includes("next"))).not.toContain(true)
    expect(await next.outcome).toEqual({ kind: "succeeded", output: "5" })
    expect(await deaf.outcome).toMatchObject({ kind: "failed", error: { kind: "timeout" } })
  })

  test("no zombie is left", async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => start(command("true"), "null", runOf(`r${index}`)).outcome),
    )
    expect(childrenOf(process.pid).filter(({ stat }) => stat.startsWith("Z"))).toEqual([])
  })
})

describe("the end of the engine's process", () => {
  const launch = (mark: string, how: string) => {
    const file = new URL("runner.child.ts", import.meta.url).pathname
    const args = process.versions["deno"] === undefined ? [file] : ["run", "-A", file]
    const child = spawn(process.execPath, [...args, mark, how], { stdio: ["ignore", "pipe", "inherit"] })
    let said = ""
    child.stdout.on("data", (chunk) => (said += String(chunk)))
    const ended = new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)))
    return { child, ended, said: () => said }
  }
  const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith("uhrwerk-groups-"))

  test.each(["kill", "exit", "stop"])("%s: nothing goes on, and no note is left", async (how) => {
    const mark = newMark()
    const others = new Set(folders())
    const { child, ended, said } = launch(mark, how)
    await until("both are up", () => said().includes("up"))
    if (how === "kill") {
      expect(aliveWith(`60.${mark}`).length).toBeGreaterThan(1)
      child.kill("SIGKILL")
    }
    const code = await ended
    expect(code).toBe(how === "kill" ? null : how === "exit" ? 3 : 0)
    if (how === "stop") expect(said()).toContain("closed")
    await until("the programs are gone", () => aliveWith(`60.${mark}`).length === 0)
    await until("the notes are gone", () => folders().every((name) => others.has(name)))
  })

  test("a guardian that was ended is told of, and the next program has one again", async () => {
    const mine = open()
    await mine.start(command("true")).outcome
    const guardians = childrenOf(process.pid).filter(({ args }) => args.includes("uhrwerk-guardian"))
    // The last one is that of this test.
    process.kill(Math.max(...guardians.map(({ pid }) => pid)), "SIGKILL")
    await until("it is told of", () => mine.troubles.length > 0)
    expect(mine.troubles[0]).toContain("keep a guardian of subprocesses")
    expect(await mine.start(command("true")).outcome).toMatchObject({ kind: "succeeded" })
    await mine.runner.close()
  })
})
