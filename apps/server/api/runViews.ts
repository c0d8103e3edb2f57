// Runs as they are answered: payloads as JSON, instants in epoch milliseconds, errors without the secrets that they say.
import { decodePayload } from "../../../core/domain/Payload.ts"
import type { Attempt, ErrorInfo, Run } from "../../../core/domain/Run.ts"
import { redactText } from "../../../core/observe/redact.ts"

/** A run with all that there is of it. */
export const runView = ({
  input,
  output,
  error,
  reason,
  delayMillis: _delay,
  startAcknowledged: _started,
  ...run
}: Run) => ({
  ...run,
  input: decodePayload(input) ?? null,
  output: decodePayload(output) ?? null,
  reason: reasonView(reason),
  error: error === null ? null : errorView(error),
})

/** A run in a list: what may be large is left out. */
export const runLine = ({
  input: _input,
  output: _output,
  error,
  reason,
  delayMillis: _delay,
  startAcknowledged: _started,
  ...run
}: Run) => ({
  ...run,
  reason: reasonView(reason),
  error: error === null ? null : shortErrorView(error),
})

/** A failed attempt. */
export const attemptView = ({ runId: _run, error, ...attempt }: Attempt) => ({
  ...attempt,
  error: errorView(error),
})

// It may repeat what an error said.
const reasonView = (reason: string | null): string | null => (reason === null ? null : redactText(reason))

const shortErrorView = ({ name, message, kind }: ErrorInfo) => ({ name, message: redactText(message), kind })

const errorView = (error: ErrorInfo) => ({
  ...shortErrorView(error),
  ...(error.stack === undefined ? {} : { stack: redactText(error.stack) }),
})
