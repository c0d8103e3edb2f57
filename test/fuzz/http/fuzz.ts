// Fuzzes a real server in a process of its own, and looks at what is left of it: one function for the command and the test.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { Agent } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { openApi } from "../../../apps/api/openapi.ts"
import { makeClient } from "../../../apps/client/mod.ts"
import { examineStore } from "../../../apps/sdk/checkup.ts"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { linked } from "../../core/protocol/jsonSchema.ts"
import { operationsOf, type Request, requestOf } from "./Generate.ts"
import { wrongWith } from "./judge.ts"
import { send } from "./send.ts"
import { ids } from "./values.ts"

/** What to do. */
export interface FuzzOptions {
  readonly storage: "memory" | "sqlite"
  readonly requests: number
  readonly seed: number
  /** The number of the first one; default 0. */
  readonly from?: number
  /** An answer may take so long; default 1,000. */
  readonly hangMillis?: number
}

/** What was found. */
export interface Fuzzed {
  /** How many answers of each status there were; `cut`: none, or not of `node:http`. */
  readonly statuses: Readonly<Record<string, number>>
  /** Routes that answered a success at least once, of so many. */
  readonly succeeded: number
  readonly routes: number
  readonly slowestMillis: number
  readonly problems: ReadonlyArray<string>
}

const atOnce = 8
const problemsMax = 50

/** Sends so many requests, and answers what was wrong. */
export const fuzz = async ({
  storage,
  requests,
  seed,
  from = 0,
  hangMillis = 1_000,
}: FuzzOptions): Promise<Fuzzed> => {
  const folder = mkdtempSync(join(tmpdir(), "uhrwerk-fuzz-"))
  const file = join(folder, "fuzz.db")
  const server = startServer(storage === "memory" ? "memory:" : `sqlite:${file}`)
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  const operations = operationsOf(linked(openApi()))
  const statuses: Record<string, number> = {}
  const succeeded = new Set<string>()
  const problems: Array<string> = []
  // To be asked again, each by itself: on a machine that does other things, too, all are slow at times.
  const slow: Array<Request> = []
  let slowestMillis = 0
  let next = from

  const one = async (url: URL, key: string): Promise<void> => {
    while (next < from + requests && problems.length < problemsMax) {
      const request = requestOf(operations, seed, next++)
      try {
        const answer = await send(url, agent, withKey(request, key))
        const status = answer.status ?? "cut"
        statuses[status] = (statuses[status] ?? 0) + 1
        if (request.isIts && answer.status !== null && answer.status < 300)
          succeeded.add(request.operation.id)
        if (!request.operation.waits) slowestMillis = Math.max(slowestMillis, answer.millis)
        if (answer.millis > hangMillis) slow.push(request)
        const wrong = wrongWith(request, answer)
        if (wrong !== undefined)
          problems.push(`${told(seed, request)}: ${wrong}: ${answer.text.slice(0, 300)}`)
      } catch (error) {
        problems.push(`${told(seed, request)}: ${String(error)}`)
        if (server.hasEnded()) return
      }
    }
  }

  try {
    const { url } = await server.line<{ readonly url: string }>()
    const key = await makeKey(url)
    await sendSome(url, key)
    await Promise.all(Array.from({ length: atOnce }, () => one(new URL(url), key)))
    problems.push(
      ...(await stillSlow(
        slow.map((each) => withKey(each, key)),
        new URL(url),
        agent,
        seed,
        hangMillis,
      )),
    )
    agent.destroy()
    problems.push(...unharmed(await server.look()))
    await server.end()
    if (storage === "sqlite") problems.push(...(await examined(file)))
  } catch (error) {
    problems.push(`The server does not answer any more: ${String(error)}`)
  } finally {
    agent.destroy()
    await server.end()
    rmSync(folder, { recursive: true, force: true })
  }
  return { statuses, succeeded: succeeded.size, routes: operations.length, slowestMillis, problems }
}

const withKey = (request: Request, key: string): Request => ({
  ...request,
  headers: { authorization: `Bearer ${key}`, ...request.headers },
})

const againMax = 50
const again = 3

/** Requests that took too long and do so again, each time, with nothing beside them. */
const stillSlow = async (
  slow: ReadonlyArray<Request>,
  url: URL,
  agent: Agent,
  seed: number,
  hangMillis: number,
): Promise<ReadonlyArray<string>> => {
  const problems: Array<string> = []
  for (const request of slow.filter(({ operation }) => !operation.waits).slice(0, againMax)) {
    let least = Number.POSITIVE_INFINITY
    for (let tries = 0; tries < again && least > hangMillis; tries++)
      least = Math.min(least, (await send(url, agent, request)).millis)
    if (least > hangMillis) problems.push(`${told(seed, request)}: it took ${Math.round(least)} ms`)
  }
  return problems
}

/** With a key of its own: requests make keys, too, and from the first one on each needs one. */
const makeKey = async (url: string): Promise<string> => {
  const client = makeClient({ url })
  const { key } = await client.createKey({ body: { name: "fuzz", role: "admin" } })
  if (key === null) throw new Error("the key was not told")
  const { kind } = await makeClient({ url, key }).whoAmI()
  if (kind !== "key") throw new Error("the key is not taken")
  return key
}

/** Runs of ids that requests share, so that there is something to ask about. */
const sendSome = async (url: string, key: string): Promise<void> => {
  const client = makeClient({ url, key })
  const jobs = ["echo", "broken", "pair"]
  for (const [place, id] of ids.slice(0, ids.length / 2).entries())
    await client.sendRun({
      body: { job: jobs[place % jobs.length] ?? "echo", id, ...(place % 2 === 0 ? {} : { delay: "1h" }) },
    })
}

/** How to make it again. */
const told = (seed: number, { number, method, target, wire }: Request): string =>
  `seed ${seed}, request ${number}${wire === undefined ? "" : ` (${wire})`}: ${method} ${target.slice(0, 160)}`

interface Look {
  readonly error?: string
  readonly done: number
  readonly counted: number
  readonly listed: number
  readonly faults: ReadonlyArray<string>
}

const unharmed = ({ error, done, counted, listed, faults }: Look): ReadonlyArray<string> => [
  ...(error === undefined ? [] : [`afterwards a run is not done: ${error}`]),
  ...(error !== undefined || done === 42 ? [] : [`afterwards a run gave ${done}`]),
  ...(counted === listed ? [] : [`the store counts ${counted} runs, and has ${listed}`]),
  ...(faults ?? []).slice(0, problemsMax).map((fault) => `the server told of trouble: ${fault}`),
]

const examined = async (file: string): Promise<ReadonlyArray<string>> => {
  const store = sqliteDriver({ file, role: "tool", now: () => Date.now() })
  try {
    const findings = await examineStore(store)
    return findings
      .filter(({ state }) => state === "fail")
      .map(({ what, found }) => `doctor: ${what} ${found}`)
  } finally {
    await store.close()
  }
}

const node = fileURLToPath(new URL("../../../node_modules/.bin/node", import.meta.url))
const answerMillisMax = 60_000

const startServer = (storage: string) => {
  const path = fileURLToPath(new URL("server.child.ts", import.meta.url))
  const child = spawn(node, [path, storage], { stdio: ["pipe", "pipe", "inherit"] })
  child.stdin.on("error", () => undefined)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
  const line = async <A>(): Promise<A> => {
    const timer = setTimeout(() => child.kill("SIGKILL"), answerMillisMax)
    const { value, done } = await lines.next()
    clearTimeout(timer)
    if (done === true) throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`)
    return JSON.parse(value) as A
  }
  return {
    hasEnded,
    line,
    look: (): Promise<Look> => {
      child.stdin.write("look\n")
      return line<Look>()
    },
    end: () => endOf(child, hasEnded),
  }
}

const endOf = async (child: ChildProcess, hasEnded: () => boolean): Promise<void> => {
  if (hasEnded()) return
  const ended = new Promise((resolve) => child.once("exit", resolve))
  child.stdin?.end("end\n")
  const timer = setTimeout(() => child.kill("SIGKILL"), 20_000)
  await ended
  clearTimeout(timer)
}
