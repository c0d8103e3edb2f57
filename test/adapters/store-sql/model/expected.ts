// What must happen again and again while random sequences run, in the words of `tally.ts`.
import { stepEnds, triggerRules } from "../../../../core/domain/Flow.ts"
import { runStates } from "../../../../core/domain/Run.ts"
import type { Settlement } from "../../../../core/domain/Outcome.ts"
import type { Name } from "./operations.ts"

const kinds: ReadonlyArray<Settlement["kind"]> = [
  "succeeded",
  "failed",
  "snoozed",
  "released",
  "declined",
  "expanded",
]
const page = ["some", "none", "refused"]

/** Of each operation of the port, what is answered. */
const answers: Readonly<Record<Name, ReadonlyArray<string>>> = {
  enqueue: ["created ready", "created scheduled", "created blocked", "created skipped", "exists", "refused"],
  claim: ["some", "a full page", "none", "refused"],
  started: ["true", "false", "refused"],
  settle: [
    ...kinds.flatMap((kind) => [`${kind} settled`, `${kind} stale`]),
    ...triggerRules,
    "a fail-fast flow",
    "a flow with a time limit",
    "a map",
    "a fail-fast map",
    "released as lost settled",
    "released as lost stale",
    "again settled",
    "again stale",
    "refused",
  ],
  promote: page,
  dueWithin: page,
  carried: page,
  adopt: ["true", "false", "refused"],
  reclaim: ["ready", "retrying", "dead", "refused"],
  cancel: ["cancelled", "final", "unknown", "refused"],
  get: page,
  list: page,
  counts: ["some", "none"],
  queueDepths: ["some", "none"],
  attempts: ["some", "none"],
  deadLetters: page,
  replay: ["created", "exists", "unknown", "refused"],
  drop: page,
  prune: page,
  stepInputs: page,
  flowOf: ["some", "none"],
  rerunFlow: ["created", "exists", "running", "nothing", "unknown", "refused"],
  markStep: ["marked", "ended", "unknown"],
  putSchedules: ["some", "refused"],
  schedules: ["some", "none"],
  deleteSchedules: ["some", "refused"],
  pauseSchedule: ["true", "false"],
  dueSchedules: [
    "that waited",
    "whose instant came",
    "with a last run alive",
    "a page of some that wait",
    "refused",
  ],
  nextScheduleAt: ["some", "none"],
  fire: ["fired", "conflict", "many", "refused"],
  backfill: ["created", "exists", "unknown", "refused"],
  occurrences: page,
  putCalendars: ["some", "refused"],
  calendars: ["some", "none"],
  deleteCalendars: ["some", "refused"],
  join: ["some"],
  renew: ["true", "false"],
  leave: ["some"],
  nodes: ["some", "none"],
  reportWorkers: ["true", "false", "refused"],
  workers: ["some", "none"],
  putCredential: ["created", "exists", "refused"],
  credentials: ["some", "none"],
  deleteCredentials: page,
  putRecords: ["new", "one more", "another version", "refused"],
  records: page,
  deleteRecords: page,
  pruneRecords: page,
}

const flowStates = ["blocked", "ready", "running", "retrying", "succeeded", "dead", "cancelled"]

/** All of it, and what is there at the end of sequences. */
export const expectedOften: ReadonlyArray<string> = [
  ...Object.entries(answers).flatMap(([name, each]) => each.map((answer) => `${name} ${answer}`)),
  ...runStates.map((state) => `a run ${state}`),
  ...flowStates.map((state) => `a flow run ${state}`),
  ...["blocked", "released", ...stepEnds].map((state) => `a step ${state}`),
  ...["with a run", "overlap", "missed", "paused", "calendar"].map((what) => `an instant ${what}`),
  "instants that share a row",
  "a later round",
  "a letter",
  "the clock steps back",
]
