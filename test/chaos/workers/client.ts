// The client: sends runs over HTTP, writes down each before it sends it and each acknowledgement, and sends what it has no
// answer to again, under the same id, for as long as it takes.
import { appendFileSync } from "node:fs"
import { makeIds } from "../../../core/domain/Ids.ts"
import { Choice } from "../../common/random.ts"
import { pause } from "../children.ts"
import { filesOf, type LedgerLine, type Mode } from "../evidence.ts"
import { type Input, jobName } from "./project.ts"

/** Sends one, and answers its id when it is acknowledged. */
export type Send = (mode: Mode, millis: number, delayMillis?: number) => Promise<string>

const answerMillis = 3000

/** A client of a server that may be anywhere, at any time. */
export const makeClient = (folder: string, url: () => string, choice: Choice): Send => {
  const { ledger } = filesOf(folder)
  const ids = makeIds(Date.now, () => (choice.random() * 2 ** 32) | 0)
  const note = (line: LedgerLine): void => appendFileSync(ledger, `${JSON.stringify(line)}\n`)
  return async (mode, millis, delayMillis) => {
    const id = ids()
    const dueAt = delayMillis === undefined ? null : Date.now() + delayMillis
    const input: Input = { mode, millis }
    const body = JSON.stringify({ job: jobName, input, id, ...(dueAt === null ? {} : { at: dueAt }) })
    note({ kind: "send", id, mode, dueAt })
    for (;;) {
      const status = await fetch(`${url()}/v1/runs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        signal: AbortSignal.timeout(answerMillis),
      }).then(
        async (answer) => {
          // Read in full, or the connection is not free for the next one.
          const text = await answer.text()
          if (answer.status >= 400 && answer.status < 500) throw new Refused(`${answer.status} ${text}`)
          return answer.status
        },
        () => 0,
      )
      if (status === 200 || status === 201) break
      // It may be there and may be not: the id says it to the server.
      await pause(choice.int(20, 200))
    }
    note({ kind: "ack", id })
    return id
  }
}

/** The server says that the request is wrong: nothing to try again. */
class Refused extends Error {}

const modes: ReadonlyArray<Mode> = ["broken", "refused", "flaky", "flaky"]

const busyRuns = 6
// At any time a few are under way that last longer than most faults take to show.
const longPercent = 4

/** Sends so many runs over so many seconds, and goes on at this rate until `isOver`; answers when all are acknowledged. */
export const sendMany = async (options: {
  readonly send: Send
  readonly choice: Choice
  readonly runs: number
  readonly seconds: number
  readonly isOver: () => boolean
}): Promise<void> => {
  const { send, choice, runs, seconds } = options
  // About so many are under way at a time, however fast they come: workers are to be busy, not full.
  const meanMillis = Math.min(1200, (busyRuns * seconds * 1000) / (0.66 * runs))
  const sendOne = async (): Promise<void> => {
    const draw = choice.int(0, 99)
    const mode = modes[draw] ?? (draw < 70 ? "slow" : "ok")
    const millis = choice.percent(longPercent)
      ? choice.int(5000, 12_000)
      : choice.int(100, Math.max(101, Math.round(2 * meanMillis)))
    await send(mode, millis, choice.percent(10) ? choice.int(0, 3000) : undefined)
  }
  const begunAt = performance.now()
  const under = new Set<Promise<void>>()
  let failure: unknown
  for (let sent = 0; sent < runs || !options.isOver();) {
    const passed = (performance.now() - begunAt) / (seconds * 1000)
    const due = Math.ceil(passed * runs)
    // Not more at a time than a program would: one that gets no answers waits.
    for (; sent < due && under.size < 200; sent++) {
      const one = sendOne().catch((error: unknown) => void (failure = error))
      under.add(one)
      void one.finally(() => under.delete(one))
    }
    if (failure !== undefined) throw failure
    await pause(20)
  }
  await Promise.all(under)
}
