// The parts that several messages share: which attempt is meant, outcomes, errors, steps. They are the values of
// `domain` as they travel: the compiler holds them to those where Outcomes.ts turns one into the other.
import { flowStepMax, itemMax, triggerRules } from "../domain/Flow.ts"
import {
  about,
  boolean,
  byKind,
  id,
  list,
  millis,
  name,
  nullable,
  object,
  oneOf,
  optional,
  payload,
  text,
  whole,
  type TypeOf,
} from "./Field.ts"
import { snoozeMinMillis } from "../domain/Signals.ts"
import { stackMax, textMax } from "./Limits.ts"

/** Which attempt is meant: every message about a run has these three. */
export const attemptFields = {
  run: about(
    "The run's id. The same for all its attempts: use it as the idempotency key of what the handler does.",
    id,
  ),
  attempt: about("Which attempt of the run, counted from 1.", whole(1)),
  token: about(
    "The fencing token of this attempt. It grows with every claim of the run; only the holder of the newest one changes anything. Give it to systems that should refuse an outdated attempt.",
    whole(1),
  ),
}

/** Which attempt is meant. */
export type AttemptKey = TypeOf<typeof attemptKey>
const attemptKey = object(attemptFields)

/** A session's own key for an attempt. */
export const keyOf = ({ run, token }: { readonly run: string; readonly token: number }): string =>
  `${run} ${token}`

/** Why an attempt failed. */
export const errorInfo = object({
  name: about("The error's class name, or `NonError` for a thrown value that is none.", text(128)),
  message: about("What happened, in words.", text(textMax)),
  stack: about("Where it happened.", optional(text(stackMax))),
  kind: about(
    "`error`: the handler failed; `timeout`: it took too long; `lost`: it was cut off; `payload`: its output cannot be kept; `cancelled`: it was told to stop.",
    oneOf("error", "timeout", "lost", "payload", "cancelled"),
  ),
})

const stepJob = {
  job: about("The job that does the step's work.", name),
  queue: about("The queue of the step's runs.", name),
  priority: about("Higher starts first.", whole(-1_000, 1_000)),
  attemptMax: about("How many attempts the step has.", whole(1, 1_000_000)),
}
const stepId = text(textMax, 1)

const flowDefinition = object({
  name: about("The flow's name.", name),
  version: about("Stands for everything in the definition.", text(128, 1)),
  steps: about(
    "The steps, in the order in which they are declared.",
    list(
      object({
        id: about("Unique in the flow.", stepId),
        needs: about("Ids of the steps that it depends on.", list(stepId, flowStepMax)),
        rule: about("When it runs; default `all_success`.", optional(oneOf(...triggerRules))),
        allowFailure: about("Its failure does not fail the flow; default false.", optional(boolean)),
        ...stepJob,
      }),
      flowStepMax,
    ),
  ),
  output: about("The step whose output is the flow's; null: none.", nullable(stepId)),
  failFast: about("The first step that fails the flow calls all others off.", boolean),
  timeoutMillis: about(
    "The longest that one attempt at the steps may take; null: no limit.",
    nullable(millis),
  ),
})

const input = optional(
  about("JSON text that the steps read as the input of their flow; absent: the run's own.", payload),
)

/** What does the work of a run in the place of its handler. */
export const expansion = byKind({
  flow: { definition: about("The flow.", flowDefinition), input },
  map: {
    step: about("How each item is done.", object(stepJob)),
    items: about("JSON text of each item's input.", list(payload, itemMax)),
    failFast: about("The first item that fails calls all others off.", boolean),
    input,
  },
})

/** How an attempt ended, other than by failing. */
export const outcome = byKind({
  succeeded: { output: about("JSON text of what the handler returned; null: nothing.", payload) },
  snoozed: {
    delayMillis: about("Run again after this long; no attempt is used.", whole(snoozeMinMillis, 8.64e15)),
  },
  released: {},
  declined: { reason: about("Why there is nothing to do: the run ends as skipped.", text(textMax)) },
  expanded: {
    expansion: about("The steps that do the work. Needs the capability `flows`.", expansion),
    retryable: about("If the steps end badly: whether another attempt may help.", boolean),
  },
})

/** What the run of a step may read; absent from `assign` for a run of its own. */
export const stepInputs = object({
  place: about("The step's place in its flow, or the item's in its list, counted from 0.", whole(0)),
  parent: about("The run whose step this is.", id),
  input: about("JSON text of the flow's input; null: none.", payload),
  needs: about(
    "The steps that it needs.",
    list(
      object({
        id: about("The step's id.", stepId),
        state: about(
          "Where it stands.",
          oneOf("blocked", "released", "succeeded", "failed", "skipped", "upstream_failed"),
        ),
        output: about("JSON text; null for none, and for a step that did not succeed.", payload),
      }),
      flowStepMax,
    ),
  ),
})

/** An attempt that a worker has when it says hello. */
export const inHand = object({
  ...attemptFields,
  state: about(
    "`waiting`: not begun; `running`: its handler was called; `ended`: its result or failure is not acknowledged yet.",
    oneOf("waiting", "running", "ended"),
  ),
})
export type InHand = TypeOf<typeof inHand>

/** What the server says of an attempt that a worker named in `hello`. */
export const verdict = object({
  ...attemptFields,
  verdict: about(
    "`keep`: still the worker's, go on; an ended one is to be sent again. `settled`: its outcome is stored. `stale`: it is another's now, or over: stop it, and report nothing of it.",
    oneOf("keep", "settled", "stale"),
  ),
})
export type Verdict = TypeOf<typeof verdict>
