// Keeps the process alive when user code leaves a rejection unhandled or throws in a callback of its own: without
// a listener all three runtimes end the process, and with it every other run. One listener serves however many engines
// and workers of the process, each of which hears of it.
import { errorInfo } from "../../core/domain/Payload.ts"
import type { Events } from "../../core/observe/Event.ts"

const guarded = new Set<Pick<Events, "publish">>()

const report =
  (doing: string) =>
  (error: unknown): void => {
    const { name, message } = errorInfo(error)
    for (const events of guarded) events.publish({ kind: "trouble", doing, error: `${name}: ${message}` })
  }
const rejection = report("handle a rejected promise of user code")
const exception = report("handle an exception of user code")
// Whoever reads our output may go away (`| head`). Told as trouble, a listener that prints would fail again for
// it, and so on without end.
const ignore = (): void => {}
const streams = () => [process.stdout, process.stderr]

/** Reports such errors as `trouble` until the returned function is called. */
export const guardProcess = (events: Pick<Events, "publish">): (() => void) => {
  if (guarded.size === 0) {
    for (const stream of streams()) stream.on("error", ignore)
    process.on("unhandledRejection", rejection)
    process.on("uncaughtException", exception)
  }
  guarded.add(events)
  return () => {
    if (!guarded.delete(events) || guarded.size > 0) return
    for (const stream of streams()) stream.off("error", ignore)
    process.off("unhandledRejection", rejection)
    process.off("uncaughtException", exception)
  }
}
