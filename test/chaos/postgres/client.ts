// The client: sends runs through a proxy of its own, writes down each before it sends it and each acknowledgement, and
// sends what it has no answer to again, under the same id, for as long as it takes.
import { appendFileSync } from "node:fs"
import { postgresDriver } from "../../../adapters/store-sql/postgres.ts"
import { newRun } from "../../../core/contract/Fixtures.ts"
import { makeIds } from "../../../core/domain/Ids.ts"
import { Choice } from "../../common/random.ts"
import { pause } from "../children.ts"
import { filesOf, type LedgerLine, type Mode } from "../evidence.ts"

const modes: ReadonlyArray<Mode> = ["broken", "refused", "flaky", "flaky"]

const busyRuns = 12

/**
 * Sends so many runs over so many seconds, and goes on at this rate until `isOver`, so that nothing is done to idle nodes;
 * answers when all are acknowledged.
 */
export const send = async (options: {
  readonly folder: string
  readonly url: string
  readonly runs: number
  readonly seconds: number
  readonly seed: number
  readonly isOver: () => boolean
}): Promise<void> => {
  const { ledger } = filesOf(options.folder)
  const choice = new Choice(options.seed)
  const ids = makeIds(Date.now, () => (choice.random() * 2 ** 32) | 0)
  const note = (line: LedgerLine): void => appendFileSync(ledger, `${JSON.stringify(line)}\n`)
  // About so many are under way at a time, however fast they come: nodes are to be busy, not full.
  const meanMillis = Math.min(1200, (busyRuns * options.seconds * 1000) / (0.66 * options.runs))
  const limits = { connectionsMax: 4, connectMillis: 2000, statementMillis: 3000 }
  const store = await postgresDriver({ url: options.url, ...limits })

  const sendOne = async (): Promise<void> => {
    const id = ids()
    const draw = choice.int(0, 99)
    const mode = modes[draw] ?? (draw < 70 ? "slow" : "ok")
    const dueAt = choice.percent(10) ? Date.now() + choice.int(0, 3000) : null
    const input = JSON.stringify({ mode, millis: choice.int(100, Math.round(2 * meanMillis)) })
    note({ kind: "send", id, mode, dueAt })
    for (;;) {
      try {
        await store.enqueue([newRun(1, { id, job: "work", input, dueAt, attemptMax: 20 })])
        break
      } catch {
        // It may be there and may be not: the id says it to the store.
        await pause(choice.int(20, 200))
      }
    }
    note({ kind: "ack", id })
  }

  const begunAt = performance.now()
  const under = new Set<Promise<void>>()
  for (let sent = 0; sent < options.runs || !options.isOver();) {
    const passed = (performance.now() - begunAt) / (options.seconds * 1000)
    const due = Math.ceil(passed * options.runs)
    // Not more at a time than a program would: one that gets no answers waits.
    for (; sent < due && under.size < 200; sent++) {
      const one = sendOne()
      under.add(one)
      void one.finally(() => under.delete(one))
    }
    await pause(20)
  }
  await Promise.all(under)
  await store.close()
}
