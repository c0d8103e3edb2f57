// Handlers in threads or processes: as many as attempts run at once, made when they are needed and used again. Functions
// run there; programs and requests block nobody, and are started from here.
import * as Result from "effect/Result"
import { composeExecutors } from "../../core/ports/Executors.ts"
import type { Project } from "../sdk/config.ts"
import { makeFlowHandlers } from "../sdk/flowHandlers.ts"
import { makeContexts, makeHandlers } from "../sdk/handlers.ts"
import { openWorks } from "../sdk/works.ts"
import type { Place, Said } from "./Place.ts"
import { Room } from "./Room.ts"

/** What rooms are made of. */
export interface RoomsOptions {
  readonly kind: "thread" | "process"
  /** Path of the config that each room loads. */
  readonly file: string
  readonly project: Project
  readonly say: (said: Said) => void
}

/** Opens a place that makes rooms. */
export const openRooms = async ({ kind, file, project, say }: RoomsOptions): Promise<Place> => {
  const works = await openWorks(project.works, (event) => {
    if (event.kind === "log")
      say({ kind: "log", run: event.run.id, token: event.run.token, line: event.line })
    if (event.kind === "trouble") say({ kind: "trouble", doing: event.doing, error: event.error })
  })
  const outside = Result.getOrThrow(composeExecutors(works.executors(project.jobs)))
  // Only their names are used here.
  const contextOf = makeContexts(() => {})
  const functions = [
    ...makeHandlers(project.jobs, contextOf).keys(),
    ...makeFlowHandlers(project.flows, contextOf, works.perform).keys(),
  ]
  const all = new Set<Room>()
  const free: Array<Room> = []
  const open = (): Room => {
    const room = new Room({
      kind,
      file,
      say,
      onFree: (each) => void free.push(each),
      onGone: (each) => {
        all.delete(each)
        const at = free.indexOf(each)
        if (at >= 0) free.splice(at, 1)
      },
    })
    all.add(room)
    return room
  }
  return {
    jobs: new Set([...outside.jobs, ...functions]),
    start: (assignment, began, done) => {
      if (!outside.jobs.has(assignment.run.job)) return (free.pop() ?? open()).start(assignment, began, done)
      began()
      return { ...outside.start(assignment, done), kill: null }
    },
    close: async () => {
      await Promise.all([...[...all].map((room) => room.close()), works.close()])
    },
  }
}
