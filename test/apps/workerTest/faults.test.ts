// The kit itself: a worker that keeps every rule has full marks, and one that breaks a rule loses the cases that look
// at it, and no other. The workers run in this process, over real sockets; time is real.
import { describe, expect, test } from "vitest"
import { allCases, type Report, slowCases, testWorker } from "../../../apps/worker-test/mod.ts"
import { type Fault, faultyWorker } from "./faultyWorker.ts"

const quick = allCases.map(({ id }) => id).filter((id) => !slowCases.has(id))
const lostIn = ({ cases }: Report): ReadonlyArray<string> => cases.filter(({ ok }) => !ok).map(({ id }) => id)

/** What each fault costs. Slow cases are only gone through where the fault is about them. */
const faults: ReadonlyArray<readonly [Fault, ...ReadonlyArray<string>]> = [
  ["answersErrors", "polite.quiet"],
  ["beatsTooOften", "polite.heartbeat"],
  ["beginsOffline", "reliable.offline"],
  ["beginsTwice", "reliable.duplicate"],
  ["doesNotDrain", "polite.drain"],
  ["endsOnBadJson", "wire.badJson"],
  ["forgetsEnded", "reliable.lostResult", "reliable.lostAck"],
  ["goesOnAfterGrace", "reliable.grace", "reliable.stale"],
  ["ignoresCancel", "core.cancel"],
  ["ignoresLater", "polite.later1013"],
  ["ignoresTimeout", "core.timeout"],
  ["lateStart", "core.started"],
  ["logsEachLine", "polite.storm"],
  ["neverResends", "reliable.again"],
  ["noBeats", "polite.heartbeat", "reliable.deaf"],
  ["noJitter", "polite.backOff"],
  ["reconnectsAtOnce", "polite.backOff", "polite.later1013"],
  ["repeatsIds", "wire.ids"],
  ["retriesPayload", "wire.payload"],
  ["retriesRevoked", "polite.never4401"],
  ["roundsTokens", "wire.numbers"],
  ["sameIncarnation", "core.incarnation"],
  ["silentAboutUnknown", "wire.unknownType"],
  ["staleGoesOn", "reliable.stale", "reliable.deaf"],
  ["stopsOnRestart", "reliable.restart"],
  ["terminatesAtOnce", "polite.leave", "polite.leaveIdle"],
  ["tokenInAddress", "core.connect"],
  ["waitsForSilence", "polite.silence"],
]

test("a worker that keeps every rule has full marks", async () => {
  const report = await testWorker({ launch: faultyWorker() })
  expect(lostIn(report).map((id) => [id, report.cases.find((each) => each.id === id)?.lost])).toEqual([])
  expect(report.cases.map(({ id }) => id)).toEqual(allCases.map(({ id }) => id))
  expect(report.points).toBe(report.pointsMax)
})

describe("a worker that breaks a rule loses the cases that look at it, and no other", () => {
  const reports = new Map<string, Promise<Report>>()
  const waiting = [...faults]
  const startNext = (): void => {
    const next = waiting.shift()
    if (next === undefined) return
    const [fault, ...cases] = next
    const report = testWorker({
      launch: faultyWorker(fault),
      cases: [...quick, ...cases.filter((id) => slowCases.has(id))],
    })
    reports.set(fault, report)
    void report.then(startNext)
  }
  const reportOf = async (fault: string): Promise<Report> => {
    if (reports.size === 0) for (let at = 0; at < 4; at++) startNext()
    while (!reports.has(fault)) await Promise.race(reports.values()).then(() => pause(50))
    return reports.get(fault) as Promise<Report>
  }

  test.each(faults)("%s", { timeout: 120_000 }, async (fault, ...cases) => {
    const lost = lostIn(await reportOf(fault))
    // What a machine that is too busy for the spans of a case made it lose, it does not lose again.
    const again = lost.filter((id) => !cases.includes(id))
    const second =
      again.length === 0 ? null : await testWorker({ launch: faultyWorker(fault as Fault), cases: again })
    const sure = lost.filter((id) => second === null || !again.includes(id) || lostIn(second).includes(id))
    expect([...sure].sort()).toEqual([...cases].sort())
  })
})

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))
