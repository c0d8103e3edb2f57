// Keeps the process alive when user code leaves a rejection unhandled or throws in a callback of its own: without
// a listener all three runtimes end the process, and with it every other run.
import { errorInfo } from "../../core/domain/Payload.ts"
import type { Events } from "../../core/observe/Event.ts"

/** Reports such errors as `trouble` until the returned function is called. */
export const guardProcess = (events: Pick<Events, "publish">): (() => void) => {
  const report = (doing: string) => (error: unknown) => {
    const { name, message } = errorInfo(error)
    events.publish({ kind: "trouble", doing, error: `${name}: ${message}` })
  }
  const rejection = report("handle a rejected promise of user code")
  const exception = report("handle an exception of user code")
  // Whoever reads our output may go away (`| head`). Told as trouble, a listener that prints would fail again for
  // it, and so on without end.
  const ignore = (): void => {}
  const streams = [process.stdout, process.stderr]
  for (const stream of streams) stream.on("error", ignore)
  process.on("unhandledRejection", rejection)
  process.on("uncaughtException", exception)
  return () => {
    for (const stream of streams) stream.off("error", ignore)
    process.off("unhandledRejection", rejection)
    process.off("uncaughtException", exception)
  }
}
