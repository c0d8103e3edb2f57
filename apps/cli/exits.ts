// The exit codes, and what is wrong with a command line: apart from errors.ts, so that the help needs nothing else.

/** Exit codes, as on the interfaces page. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  "not found": 3,
  denied: 4,
  conflict: 5,
  unreachable: 6,
  "time-out": 7,
  partial: 8,
  "run failed": 10,
} as const

/** The command line itself is wrong. */
export class UsageError extends Error {
  override readonly name = "UsageError"
}
