// The cases of faults can fail: a store that breaks one promise fails the cases of that promise, and no others.
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { expect, test } from "vitest"
import { memoryDriver } from "../../adapters/store-memory/mod.ts"
import { faultContract } from "../../core/contract/FaultContract.ts"
import { newRun, runId } from "../../core/contract/Fixtures.ts"
import { type OpenDriver, runCase, storeContract } from "../../core/contract/StoreContract.ts"
import type { StoreOperation } from "../../core/ports/Store.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"

/** Every operation, and whether it changes something: a new one has to be decided on here. */
const changes = {
  enqueue: true,
  claim: true,
  started: true,
  settle: true,
  promote: true,
  dueWithin: false,
  carried: false,
  adopt: true,
  reclaim: true,
  cancel: true,
  get: false,
  list: false,
  counts: false,
  queueDepths: false,
  attempts: false,
  deadLetters: false,
  replay: true,
  drop: true,
  prune: true,
  stepInputs: false,
  flowOf: false,
  rerunFlow: true,
  markStep: true,
  putSchedules: true,
  schedules: false,
  deleteSchedules: true,
  pauseSchedule: true,
  dueSchedules: false,
  nextScheduleAt: false,
  fire: true,
  backfill: true,
  occurrences: false,
  putCalendars: true,
  calendars: false,
  deleteCalendars: true,
  join: true,
  renew: true,
  leave: true,
  nodes: false,
  reportWorkers: true,
  workers: false,
  putCredential: true,
  credentials: false,
  deleteCredentials: true,
  putRecords: true,
  records: false,
  deleteRecords: true,
  pruneRecords: true,
  now: false,
} as const satisfies Record<StoreOperation, boolean>

const changing = (Object.keys(changes) as ReadonlyArray<keyof typeof changes>).filter((name) => changes[name])
const lost = "done and reported as failed, then repeated: "
const notDone = "failed before it was done, then repeated: "
const namesWith = (operation: string, words: string): ReadonlyArray<string> =>
  faultContract
    .map(({ name }) => name)
    .filter((name) => name.startsWith(`${operation} > `) && name.includes(words))

/** A memory store of which some operations are other ones. */
const doctored =
  (change: (driver: StoreDriver) => Partial<StoreDriver>): OpenDriver =>
  (now) => {
    const driver = memoryDriver({ now })
    return { ...driver, ...change(driver) }
  }

/** The names of the cases of faults that fail. */
const failuresOf = async (open: OpenDriver, of = faultContract): Promise<ReadonlyArray<string>> => {
  const failures: Array<string> = []
  for (const each of of) {
    const exit = await Effect.runPromiseExit(runCase(each, open))
    if (Exit.isFailure(exit)) failures.push(each.name)
  }
  return failures
}

/** The same operation that does more, before it is done, whenever it is called again as it was. */
const again = (driver: StoreDriver, operation: keyof StoreDriver, also: () => void) => {
  const call = driver[operation] as (...args: Array<never>) => unknown
  const seen = new Set<string>()
  return {
    [operation]: (...args: Array<never>) => {
      const text = JSON.stringify(args)
      if (seen.has(text)) also()
      seen.add(text)
      return call(...args)
    },
  } as Partial<StoreDriver>
}

test("the one list has the cases of faults, under names of their own", () => {
  const names = storeContract.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names).toEqual(expect.arrayContaining(faultContract.map(({ name }) => name)))
})

test.each(changing)("%s > has a case of a lost answer and one of a call that was not done", (operation) => {
  expect(namesWith(operation, lost).length).toBeGreaterThan(0)
  expect(namesWith(operation, notDone)).toHaveLength(namesWith(operation, lost).length)
})

test.each(changing.filter((name) => name !== "claim"))(
  "%s > a store that does more when it is asked again fails its cases of a lost answer, and none of the others",
  async (operation) => {
    let strays = 900
    const open = doctored((driver) =>
      again(driver, operation, () => void driver.enqueue([newRun(strays++, { job: "stray" })])),
    )
    const own = faultContract.filter(({ name }) =>
      [...namesWith(operation, lost), ...namesWith(operation, notDone)].includes(name),
    )
    expect(await failuresOf(open, own)).toEqual(namesWith(operation, lost))
  },
)

test("claim > a store that forgets what a node carries fails the cases of a lost answer", async () => {
  const failures = await failuresOf(doctored(() => ({ carried: () => [] })))
  expect(failures.filter((name) => name.startsWith("claim > "))).toEqual(namesWith("claim", lost))
})

test("a store that is not like its twin fails all of them", async () => {
  let opened = 0
  const own = faultContract.filter(({ name }) => name.includes(lost) || name.includes(notDone))
  const failures = await failuresOf((now) => {
    const driver = memoryDriver({ now })
    // The case's own is opened first, its twin second.
    if (opened++ % 2 === 1) void driver.enqueue([newRun(900, { job: "stray", delayMillis: 86_400_000 })])
    return driver
  }, own)
  expect(failures).toEqual(own.map(({ name }) => name))
})

test("settle > a store that does not remember the last token fails each kind of outcome", async () => {
  const failures = await failuresOf(
    doctored((driver) => {
      const done = new Set<string>()
      return {
        settle: async (settlements) => {
          const answers = await driver.settle(settlements)
          return answers.map((answer, index) => {
            const key = `${answer.id} ${settlements[index]?.token}`
            if (done.has(key)) return { ...answer, result: "stale" as const }
            done.add(key)
            return answer
          })
        },
      }
    }),
  )
  expect(failures).toEqual(expect.arrayContaining([...namesWith("settle", lost)]))
  expect(failures.filter((name) => name.startsWith("settle > a batch, partly stale"))).toHaveLength(1)
})

test("settle > a store that does not look at the token fails where others went on", async () => {
  const failures = await failuresOf(
    doctored((driver) => ({
      settle: async (settlements) => {
        const runs = await driver.get(settlements.map(({ id }) => id))
        const tokens = new Map(runs.map(({ id, token }) => [id, token]))
        return driver.settle(
          settlements.map((each) => ({ ...each, token: tokens.get(each.id) ?? each.token })),
        )
      },
    })),
  )
  expect(failures).toEqual(
    expect.arrayContaining(
      [
        "settle > a retry, done and reported as failed, and another node has claimed the run",
        "settle > failed before it was done, and another node reclaimed the run",
        "settle > a flow that begins, done and reported as failed, and its steps went on",
      ].map((start) => expect.stringContaining(start) as unknown),
    ),
  )
})

test("enqueue > a store that stores a known id once more fails", async () => {
  const failures = await failuresOf(
    doctored((driver) => {
      let copies = 500
      const known = new Set<string>()
      return {
        enqueue: (runs) => {
          const stored = runs.map((run) =>
            known.has(run.id) ? { ...run, id: runId(copies++), key: null, needs: [] } : run,
          )
          for (const { id } of runs) known.add(id)
          return driver.enqueue(stored)
        },
      }
    }),
  )
  expect(failures).toEqual(
    expect.arrayContaining([
      ...namesWith("enqueue", lost),
      ...namesWith("enqueue", "a batch with keys"),
      ...namesWith("every operation", "every other answer is lost"),
    ]),
  )
  expect(failures).not.toContain(namesWith("enqueue", notDone)[0])
})

test("fire > a store that does not look at the version fails, also where the ledger has no say", async () => {
  const failures = await failuresOf(
    doctored((driver) => ({
      fire: async (fires) => {
        const rows = new Map((await driver.schedules()).map(({ id, version }) => [id, version]))
        return driver.fire(
          fires.map((each) => ({ ...each, version: rows.get(each.scheduleId) ?? each.version })),
        )
      },
    })),
  )
  expect(failures).toEqual(
    expect.arrayContaining([
      ...namesWith("fire", `a step without a run or an instant, ${lost}`),
      ...namesWith("fire", "it moves nothing back"),
      ...namesWith("fire", "a batch, done and reported as failed"),
    ]),
  )
})

test("replay > a store that replays a letter once more fails", async () => {
  const failures = await failuresOf(
    doctored((driver) => ({
      replay: async (runIds, newIds) => {
        const answers = await driver.replay(runIds, newIds)
        const twice = answers.flatMap(({ result }, index) => (result === "exists" ? [index] : []))
        await driver.enqueue(
          twice.map((index) => ({ ...newRun(0), id: `${newIds[index]?.slice(0, -4)}9999`, replayOf: null })),
        )
        return answers.map((answer) =>
          answer.result === "exists" ? { ...answer, result: "created" as const } : answer,
        )
      },
    })),
  )
  expect(failures).toEqual([
    ...namesWith("replay", lost),
    ...namesWith("replay", "a batch, done and reported as failed"),
    ...namesWith("every operation", "every other answer is lost"),
  ])
})
