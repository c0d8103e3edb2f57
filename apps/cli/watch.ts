// `--watch`: a list or a thing shown again and again, until it is stopped.
import { UsageError } from "./exits.ts"

/** How often, without a word. */
const everyMillis = 2_000

/** Whether a command only looks at something. */
const isLook = (name: string): boolean => /(^| )(list|show|explain|next|doctor)$/.test(name)

/** Runs `look` every two seconds until a signal; answers the exit code of a stop. */
export const watch = async (name: string, look: () => Promise<number>): Promise<number> => {
  if (!isLook(name)) throw new UsageError(`${name} does something, and --watch is for commands that look`)
  const stopped = Promise.withResolvers<number>()
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)
    process.once(signal, () => stopped.resolve(code))
  for (;;) {
    // Elsewhere than on a terminal each look follows the one before.
    if (process.stdout.isTTY) process.stdout.write("\u001b[H\u001b[2J")
    const code = await Promise.race([stopped.promise, look()])
    // What is wrong with the question stays wrong.
    if (code !== 0) return code
    const timer = Promise.withResolvers<undefined>()
    const handle = setTimeout(() => timer.resolve(undefined), everyMillis)
    const end = await Promise.race([stopped.promise, timer.promise])
    clearTimeout(handle)
    if (end !== undefined) return end
  }
}
