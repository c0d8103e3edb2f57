// Who runs the handlers that the engine calls itself: the node, or a program behind frames that may be lost, repeated,
// late and out of order, as an executor over HTTP is. It stands for all executors that are elsewhere: a frame is sent
// again until it is acknowledged, who is silent for too long is given up, and what it says afterwards is not heard.
// Workers that speak the protocol are in Workers.ts.
import type { Outcome } from "../../core/domain/Outcome.ts"
import type { Run } from "../../core/domain/Run.ts"
import type { Executor } from "../../core/ports/Executor.ts"
import { type Act, type Attempt, ownJobsOf, stopped, workerLost } from "./Handlers.ts"
import type { Swarm } from "./Swarm.ts"
import type { Watch } from "./Watch.ts"
import type { Weather } from "./Wire.ts"
import type { Lane, World } from "./World.ts"

/** What an executor of a simulation is told. */
export interface Hands {
  readonly world: World
  readonly node: Lane
  readonly watch: Watch
  readonly swarm: Swarm
  readonly weather: Weather
  readonly actOf: (run: Attempt) => Act
  /** An attempt begins, and ends, in its handler. */
  readonly onStart: (run: Run) => void
  readonly onEnd: (run: Run, outcome: Outcome) => void
}

/** Runs an attempt on a lane; the answer stops it. */
const perform = (
  { actOf, onStart, onEnd }: Hands,
  lane: Lane,
  run: Run,
  done: (outcome: Outcome) => void,
): (() => void) => {
  const { millis, outcome, isDeaf } = actOf(run)
  let isOver = false
  const end = (how: Outcome): void => {
    if (isOver) return
    isOver = true
    onEnd(run, how)
    done(how)
  }
  onStart(run)
  if (millis === 0) end(outcome)
  else if (millis < Number.POSITIVE_INFINITY) lane.after(millis, () => end(outcome))
  return () => {
    if (!isDeaf) lane.after(5, () => end(stopped))
  }
}

/** Handlers in the node. */
export const inProcess = (hands: Hands): Executor["Service"] => ({
  jobs: ownJobsOf(hands.swarm),
  start: ({ run }, done) => ({ stop: perform(hands, hands.node, run, done) }),
})

// A frame is sent again after this time without an acknowledgement, and a worker is given up after that.
const resendMillis = 1000
const silentMillis = 6000

/** Handlers on workers; `worker` is the one that takes work now. */
export const remote = (hands: Hands, worker: () => Lane): Executor["Service"] => ({
  jobs: ownJobsOf(hands.swarm),
  start: ({ run }, done) => {
    const { world, node } = hands
    const at = worker()
    let isOver = false
    let lastHeard = world.elapsed
    let stop: (() => void) | undefined
    const finish = (outcome: Outcome): void => {
      if (isOver) return
      isOver = true
      done(outcome)
    }
    // At the worker: an assignment that comes twice is the same attempt.
    let begun = false
    let answer: Outcome | undefined
    const assigned = (): void => {
      if (begun) return
      begun = true
      stop = perform(hands, at, run, (outcome) => {
        answer = outcome
        report()
      })
    }
    const report = (): void => {
      if (isOver || answer === undefined) return
      const outcome = answer
      frame(hands, node, () => finish(outcome))
      at.after(resendMillis, report)
    }
    const beat = (): void => {
      if (isOver) return
      frame(hands, at, () => {
        assigned()
        frame(hands, node, () => {
          lastHeard = world.elapsed
        })
      })
      if (world.elapsed - lastHeard > silentMillis) finish(workerLost)
      else node.after(resendMillis, beat)
    }
    beat()
    return {
      stop: () => frame(hands, at, () => stop?.()),
    }
  },
})

/** Carries something to a lane: at once, late, twice or never, as the seed has it. */
export const frame = ({ world, watch, swarm, weather }: Hands, to: Lane, arrive: () => void): void => {
  const { random } = world
  if (weather.isStormy && random.chance(swarm.lost)) {
    watch.counters.framesLost++
    return
  }
  const copies = weather.isStormy && random.chance(swarm.repeated) ? 2 : 1
  for (let copy = 0; copy < copies; copy++) {
    const isLate = weather.isStormy && random.chance(swarm.late)
    to.after(isLate ? random.int(1, 1500) : 1, arrive)
  }
}
