// One round of one side: runs are enqueued in batches, then claimed and settled in turn until none is left, as an engine
// with no-op handlers does, each call awaited.
import { type Spent, startMeter } from "../common/meter.ts"
import { newRun, type Side } from "./Side.ts"
import { ids } from "./subject.ts"

/** What calls of one kind took together. */
export interface Calls extends Spent {
  readonly runs: number
  readonly calls: number
}

/** What a round took. */
export interface Round {
  readonly enqueue: Calls
  readonly claim: Calls
  readonly settle: Calls
}

/** How much is done at a time. */
export interface Sizes {
  readonly runs: number
  readonly batch: number
  readonly claim: number
}

/** Does it, and checks that each run has ended once. */
export const measureRound = async (side: Side, sizes: Sizes): Promise<Round> => {
  const before = await side.ended()
  const enqueue = tally()
  for (let from = 0; from < sizes.runs; from += sizes.batch) {
    const count = Math.min(sizes.batch, sizes.runs - from)
    const runs = Array.from({ length: count }, (_, n) => newRun(ids(), from + n))
    await enqueue.add(count, () => side.enqueue(runs))
  }
  const [claim, settle] = [tally(), tally()]
  for (;;) {
    const held = await claim.add(0, () => side.claim(sizes.claim))
    if (held.length === 0) break
    claim.runs(held.length)
    await settle.add(held.length, () => side.settle(held))
  }
  const ended = (await side.ended()) - before
  if (ended !== sizes.runs) throw new Error(`${side.name}: ${ended} of ${sizes.runs} runs have ended`)
  return { enqueue: enqueue.calls(), claim: claim.calls(), settle: settle.calls() }
}

const tally = () => {
  const sum = { runs: 0, calls: 0, wallMillis: 0, cpuMillis: 0 }
  return {
    add: async <A>(runs: number, call: () => Promise<A>): Promise<A> => {
      const meter = startMeter()
      const answer = await call()
      const { wallMillis, cpuMillis } = meter()
      sum.runs += runs
      sum.calls++
      sum.wallMillis += wallMillis
      sum.cpuMillis += cpuMillis
      return answer
    },
    runs: (count: number) => void (sum.runs += count),
    calls: (): Calls => ({ ...sum }),
  }
}
