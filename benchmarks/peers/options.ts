// The command line of the comparison with other job queues.
import { type BenchOptions, benchHelp, benchOptions } from "../common/options.ts"
import { sideNames } from "./sides.ts"

/** What can be measured, in the order in which it is. */
export const figureNames = ["single", "inflight", "bulk", "drain", "latency", "lateness"] as const

/** One of the things that are measured. */
export type FigureName = (typeof figureNames)[number]

const sizes = {
  runs: { fallback: 20_000, min: 10, max: 1_000_000, help: "jobs that are enqueued in bulk, and drained" },
  single: { fallback: 500, min: 1, max: 100_000, help: "sends of one sender that awaits each" },
  inflight: { fallback: 2000, min: 1, max: 1_000_000, help: "sends of 64 senders, each awaits its own" },
  concurrency: { fallback: 200, min: 1, max: 1000, help: "jobs at once in the one process, for all sides" },
  samples: {
    fallback: 100,
    min: 1,
    max: 10_000,
    help: "sends for enqueue-to-start in a round, one at a time",
  },
  delayed: { fallback: 1000, min: 1, max: 100_000, help: "delayed jobs for lateness" },
  spread: { fallback: 10_000, min: 100, max: 60_000, help: "span of their due times, ms" },
  rounds: { fallback: 3, min: 1, max: 100, help: "rounds of all sides, order reversed each time" },
} as const

const address = (scheme: RegExp) => (text: string) =>
  URL.canParse(text) && scheme.test(text) ? undefined : "is not an address of such a server"

const texts = {
  sides: {
    fallback: sideNames.join(","),
    help: "which sides, by name, with commas between",
    wrong: (text: string) => {
      const unknown = text.split(",").find((name) => !(sideNames as ReadonlyArray<string>).includes(name))
      return unknown === undefined
        ? undefined
        : `names a side "${unknown}". There is: ${sideNames.join(", ")}`
    },
  },
  postgres: {
    fallback: "postgres://postgres@127.0.0.1:5432/test",
    help: "the PostgreSQL server and database",
    wrong: address(/^postgres(ql)?:/),
  },
  redis: { fallback: "redis://127.0.0.1:6379", help: "the Redis server", wrong: address(/^rediss?:/) },
} as const

/** Checked options. */
export type Options = BenchOptions<keyof typeof sizes, FigureName> &
  Readonly<Record<keyof typeof texts, string>>

/** The text for `--help`. */
export const help = (): string =>
  benchHelp(
    "peers: the same work on other job queues, each in a process of its own",
    sizes,
    figureNames,
    texts,
  )

/** Reads the command line: options, or `help`; throws an `Error` that names the option. */
export const parseOptions = (args: ReadonlyArray<string>): Options | "help" =>
  benchOptions(args, sizes, figureNames, texts)
