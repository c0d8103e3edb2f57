// All flags of all commands, said once. Which of them a command takes, its usage says; another one is refused, as to pass
// it over would do something else than was meant.
import { UsageError } from "./exits.ts"

/** As `parseArgs` takes them. */
export const flagTypes = {
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
  storage: { type: "string" },
  output: { type: "string", short: "o" },
  state: { type: "string" },
  job: { type: "string" },
  limit: { type: "string" },
  before: { type: "string" },
  schedule: { type: "string" },
  reason: { type: "string" },
  tz: { type: "string" },
  gap: { type: "string" },
  ambiguous: { type: "string" },
  n: { type: "string", short: "n" },
  from: { type: "string", multiple: true },
  to: { type: "string" },
  max: { type: "string" },
  note: { type: "string" },
  order: { type: "string" },
  "dry-run": { type: "boolean" },
  "fast-forward": { type: "string" },
  "run-handlers": { type: "boolean" },
  open: { type: "boolean" },
  mermaid: { type: "boolean" },
  dot: { type: "boolean" },
  input: { type: "string" },
  "from-failed": { type: "boolean" },
  skipped: { type: "boolean" },
  "step-output": { type: "string" },
  plan: { type: "boolean" },
  json: { type: "boolean" },
  cmd: { type: "string" },
  only: { type: "string" },
  case: { type: "string" },
  verbose: { type: "boolean" },
  port: { type: "string" },
  host: { type: "string" },
  "allow-host": { type: "string", multiple: true },
  "allow-origin": { type: "string", multiple: true },
  rate: { type: "string" },
  "no-workers": { type: "boolean" },
  name: { type: "string" },
  queue: { type: "string", multiple: true },
  expires: { type: "string" },
  role: { type: "string" },
  namespace: { type: "string" },
  actor: { type: "string" },
  route: { type: "string" },
  config: { type: "string" },
  url: { type: "string" },
  "token-file": { type: "string" },
  label: { type: "string", multiple: true },
  concurrency: { type: "string" },
  prefetch: { type: "string" },
  handlers: { type: "string" },
  "give-up": { type: "string" },
  follow: { type: "boolean", short: "f" },
  attempt: { type: "string" },
  timeout: { type: "string" },
  wait: { type: "boolean" },
  delay: { type: "string" },
  key: { type: "string" },
  where: { type: "string" },
  yes: { type: "boolean" },
  grace: { type: "string" },
  node: { type: "string" },
  system: { type: "boolean" },
  out: { type: "string" },
  runtime: { type: "string" },
  template: { type: "string" },
  force: { type: "boolean" },
  watch: { type: "boolean" },
} as const

type FlagTypes = typeof flagTypes

/** A command's options, as far as they are given. */
export type Flags = {
  readonly [K in keyof FlagTypes]?: FlagTypes[K] extends { readonly multiple: true }
    ? ReadonlyArray<string>
    : FlagTypes[K]["type"] extends "boolean"
      ? boolean
      : string
}

// What every command takes, or does not need.
const everywhere: ReadonlySet<string> = new Set(["help", "version", "storage", "output", "watch"])

/** Refuses flags that the command does not take, by its usage. */
export const checkFlags = (name: string, usage: string, flags: Flags): void => {
  const taken = new Set(
    [...usage.matchAll(/--([a-z][a-z-]*)|(?<![\w-])-([a-z])\b/g)].map(([, long, short]) => long ?? short),
  )
  for (const flag of Object.keys(flags)) {
    if (everywhere.has(flag) || taken.has(flag)) continue
    const all = [...taken].map((each) => (each?.length === 1 ? `-${each}` : `--${each}`))
    throw new UsageError(
      `${name} takes no ${flag.length === 1 ? "-" : "--"}${flag}${all.length === 0 ? "" : `; it takes ${all.join(", ")}`}`,
    )
  }
}
