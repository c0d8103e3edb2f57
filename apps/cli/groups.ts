// All commands, by their first word, each group loaded when it is asked for: most of what a command needs, another does not,
// and the help needs none of it.
import type { Command } from "./open.ts"

/** Commands by all their words. */
export type Commands = Readonly<Record<string, Command>>

type Load = () => Promise<Commands>

const schedules: Load = async () => ({
  ...(await import("./jobs.ts")).jobCommands,
  ...(await import("./schedules.ts")).scheduleCommands,
  ...(await import("./operate.ts")).operateCommands,
})

const transfer: Load = async () => (await import("./transfer.ts")).transferCommands

/** By first word; a group may have commands of another word too, which are not asked for there. */
export const groups: Readonly<Record<string, Load>> = {
  init: async () => ({ init: (await import("./init.ts")).init }),
  dev: async () => ({
    dev: (await import("./dev.ts")).dev,
    // The same command, told apart by its flag.
    "dev --fast-forward": (await import("./fastForward.ts")).fastForward,
  }),
  serve: async () => ({ serve: (await import("./serve.ts")).serve }),
  worker: async () => ({
    worker: (await import("./worker.ts")).worker,
    ...(await import("./workers.ts")).workerCommands,
  }),
  run: async () => (await import("./runs.ts")).runCommands,
  flow: async () => (await import("./flows.ts")).flowCommands,
  job: schedules,
  schedule: schedules,
  occurrence: schedules,
  calendar: async () => (await import("./calendars.ts")).calendarCommands,
  dead: async () => (await import("./dead.ts")).deadCommands,
  node: async () => (await import("./nodes.ts")).nodeCommands,
  queue: async () => (await import("./queues.ts")).queueCommands,
  token: async () => (await import("./tokens.ts")).tokenCommands,
  export: transfer,
  import: transfer,
  "import-from": async () => (await import("./importFrom.ts")).importFromCommands,
  key: async () => (await import("./keys.ts")).keyCommands,
  audit: async () => (await import("./keys.ts")).keyCommands,
  migrate: async () => ({ migrate: (await import("./migrate.ts")).migrate }),
  doctor: async () => ({ doctor: (await import("./doctor.ts")).doctor }),
  completions: async () => ({ completions: (await import("./completions.ts")).completions }),
  cron: async () => (await import("./cron.ts")).cronCommands,
  "worker-test": async () => ({ "worker-test": (await import("./workerTest.ts")).workerTest }),
}

/** All commands, in the order of the help. */
export const allCommands = async (): Promise<Commands> => {
  const all: Record<string, Command> = {}
  for (const [word, load] of Object.entries(groups))
    for (const [name, command] of Object.entries(await load()))
      if (name.split(" ")[0] === word) all[name] = command
  return all
}
