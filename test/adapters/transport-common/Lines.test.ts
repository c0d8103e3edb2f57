// What the connections of a server share, on a clock that the test moves: above all, that time in which the process stood
// still is held against nobody.
import { describe, expect, test } from "vitest"
import { clientCode } from "../../../adapters/transport-common/clientCode.ts"
import { cutReason, type LineTime, type Socket } from "../../../adapters/transport-common/Line.ts"
import { Lines } from "../../../adapters/transport-common/Lines.ts"
import type { TransportLimits } from "../../../core/ports/Transport.ts"

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/** Time whose timers come only when they are called, however late. */
const stubbornTime = (): LineTime & {
  /** Moves the clock by this, then calls what is due by then. */
  readonly jump: (millis: number) => void
} => {
  let now = 0
  let timers: ReadonlyArray<Timer> = []
  return {
    now: () => now,
    after: (millis, callback) => {
      const timer = { at: now + millis, callback }
      timers = [...timers, timer]
      return () => {
        timers = timers.filter((each) => each !== timer)
      }
    },
    jump: (millis) => {
      now += millis
      const due = timers.filter(({ at }) => at <= now)
      timers = timers.filter(({ at }) => at > now)
      for (const { callback } of due) callback()
    },
  }
}

const setUp = (limits: Partial<TransportLimits>) => {
  const time = stubbornTime()
  const ends: Array<number> = []
  const done: Array<string> = []
  const lines = new Lines(
    {
      limits,
      onConnection: () => ({ onFrame: () => undefined, onClose: (code) => void ends.push(code) }),
    },
    time,
  )
  const socket: Socket = {
    send: () => 0,
    buffered: () => 0,
    close: (code) => void done.push(`close ${code}`),
    terminate: () => void done.push("terminate"),
    ping: () => void done.push("ping"),
  }
  const request = { remoteAddress: "", path: "/", headers: new Map<string, string>(), offered: [] }
  return { time, ends, done, lines, line: lines.open(socket, request, "") }
}

describe("Lines > silence", () => {
  const limits = { silenceMillisMax: 4_000, firstFrameMillisMax: 4_000 }

  test("a peer is pinged once after half the time, and given up after the whole", () => {
    const { time, line, ends, done, lines } = setUp(limits)
    line.received("hello")
    for (let second = 1; second <= 3; second++) time.jump(1_000)
    expect([ends, done]).toEqual([[], ["ping"]])
    // The first second only noticed that it had spoken.
    for (let second = 4; second <= 5; second++) time.jump(1_000)
    expect([ends, done, lines.size]).toEqual([[1006], ["ping", "terminate"], 0])
  })

  test("one that answers is pinged again and kept", () => {
    const { time, line, ends, done } = setUp(limits)
    line.received("hello")
    for (let second = 0; second < 60; second++) {
      const pings = done.length
      time.jump(1_000)
      if (done.length > pings) line.heard()
    }
    expect(ends).toEqual([])
    expect(done.length).toBeGreaterThan(10)
  })

  test("a process that stood still for an hour gives nobody up for it, and looks on from there", () => {
    const { time, line, ends, done } = setUp(limits)
    line.received("hello")
    time.jump(1_000)
    time.jump(3_600_000)
    expect(ends).toEqual([])
    time.jump(1_000)
    expect([ends, done]).toEqual([[], ["ping"]])
    time.jump(1_000)
    time.jump(1_000)
    expect([ends, done]).toEqual([[1006], ["ping", "terminate"]])
  })

  test("the same holds for the first frame", () => {
    const { time, done } = setUp(limits)
    time.jump(1_000)
    time.jump(3_600_000)
    expect(done).toEqual(["ping"])
    for (let second = 0; second < 2; second++) time.jump(1_000)
    expect(done).toEqual(["ping", "close 4408"])
  })

  test("limits of Infinity are none, and set no timer", () => {
    const { time, ends, done } = setUp({ silenceMillisMax: Infinity, firstFrameMillisMax: Infinity })
    time.jump(1e9)
    expect([ends, done]).toEqual([[], []])
  })
})

describe("texts and codes", () => {
  test("a reason is cut to 123 bytes between characters, and a short one is left alone", () => {
    for (const character of ["a", "ä", "日", "\u{1F600}"]) {
      const long = cutReason(character.repeat(200))
      const size = Buffer.byteLength(character)
      expect(long).toBe(character.repeat(Math.floor(123 / size)))
      expect(cutReason(long)).toBe(long)
    }
  })

  test("a client says only what every runtime lets it say", () => {
    const said = [1000, 1001, 1003, 1009, 1011, 1012, 2999, 3000, 4400, 4999, 5000].map(clientCode)
    expect(said).toEqual([1000, 4500, 4400, 4400, 4500, 4500, 4500, 3000, 4400, 4999, 4500])
  })
})
