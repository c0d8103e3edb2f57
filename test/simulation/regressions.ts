// Seeds that once broke a promise, kept so that they never do again. A seed means the same only as long as workload and
// faults stay as they are, so what lasts is the test that was made of each, which stands in brackets.

import { restless, type Swarm } from "./Swarm.ts"

/** A seed with the story behind it. */
export interface Regression {
  readonly seed: number
  readonly story: string
  /** What the seed would not choose by itself. Those that were found before there were workers go without any. */
  readonly swarm?: Partial<Swarm>
}

/** All of them, in the order in which they were found. */
export const regressions: ReadonlyArray<Regression> = [
  { seed: 163, story: "a drain left runs behind that a claim whose answer was lost had given (Engine.test)" },
  { seed: 73, story: "the same, under the workload of today (Engine.test)" },
  {
    seed: 351,
    story: "a claim that was lost gave the next attempt of a known run, and nobody started it (Engine.test)",
  },
  {
    seed: 1337,
    story: "a request under way at the end was told to be refused, and was stored (Engine.test)",
  },
  { seed: 1464, story: "the same, with a node that crashed later (Engine.test)" },
  { seed: 1477, story: "the same, with a drain (Engine.test)" },
  { seed: 240, story: "the same, under the workload of today (Engine.test)" },
  { seed: 16, story: "a planner whose clock is ahead of the store's asked without a sleep (skew.test)" },
  {
    seed: 48,
    story: "a step with one decided instant lost its other ones (backfill.test, PlannedStep.test)",
  },
  {
    seed: 138,
    story: "an edit after a skip waited for what its old pattern had decided ahead (contract: putSchedules)",
  },
  {
    seed: 104,
    story: "a filled row of one instant that stood for several began after its end (contract: backfill)",
  },
  { seed: 2906, story: "a calendar asked about the end of time forgot its windows (CalendarSet.test)" },
  { seed: 3750, story: "a schedule with a number of runs ended one short (backfill.test)" },
  { seed: 2336, story: "a closed fixed delay got a row ahead of a clock that was set back (Placement.test)" },
  { seed: 2509, story: "the same, with another calendar (Placement.test)" },
  { seed: 394, story: "a schedule edited after a skip, at a clock change (ledger model)" },
  {
    seed: 1680,
    story: "a node that stood still while it drained was held to its time (a check that was wrong)",
  },
  { seed: 5381, story: "a flow that waits for a clock that was set back (a check that was wrong)" },
  {
    seed: 1778,
    story: "a store that gives no answers held an engine up twice when it drained (Engine.test: leaves once)",
  },
  {
    seed: 568,
    story: "a rate that goes on in time that comes again, behind a skipped instant (a check that was wrong)",
  },
  { seed: 2217, story: "an edit while the clock is behind the schedule's creation (a check that was wrong)" },
  { seed: 11149, story: "a flow was looked at before the dispatcher was made, and the loop broke (Engine)" },
  { seed: 12002, story: "a claim on a slow way (a check that was wrong)" },
  { seed: 12726, story: "more to do than there are slots for (a check that was wrong)" },
  {
    seed: 14848,
    story: "a node's own clock was set back, and what somebody had skipped ran after all (skew.test)",
  },
  {
    seed: 347,
    story:
      "a row for many counted an instant that an old pattern had decided (PlannedStep.test, backfill.test)",
  },
  {
    seed: 13877,
    story: "a node asked for work under an id that had not joined yet (Engine.test: forgotten)",
  },
  { seed: 25702, story: "a step was cancelled by the loss of another one (a check that was wrong)" },
  {
    seed: 30448,
    story: "calendars were looked at, and a cron schedule began with the moment of its creation (nextOf)",
  },
  {
    seed: 35382,
    story:
      "a fixed delay was over in a decided moment, as the clock was set back, and its planner looked without an end (skew.test)",
  },
  { seed: 39376, story: "the same, with another schedule (skew.test)" },
  { seed: 43013, story: "a skip of 118 years, which the model walked through (a check that was wrong)" },
  { seed: 10825, story: "a first instant that calendars set again (a check that was wrong)" },
  { seed: 118, story: "a run by hand in the very moment when a delay was over (a check that was wrong)" },
  { seed: 14848, swarm: {}, story: "a worker got the job again that it has no handler for (reception.test)" },
  { seed: 81, swarm: {}, story: "a drain left what a lost claim had given for a worker (simulated.test)" },
  { seed: 172, swarm: {}, story: "the same, with another claim (simulated.test)" },
  {
    seed: 36,
    swarm: restless,
    story: "a part of a broadcast waited for ever for a worker that was gone (simulated.test)",
  },
  {
    seed: 2,
    swarm: { ...restless, workerCrashMillis: 2000 },
    story: "a new session handed back what its hello named as begun, and adopted it (sessions.test)",
  },
  {
    seed: 420,
    swarm: {},
    story: "no worker had room, and a flow went on over its deadline (simulated.test)",
  },
  { seed: 1342, swarm: {}, story: "the same, with another flow (simulated.test)" },
]
