// Handlers in this process: the same executors as an engine's. One that blocks the event loop blocks the heartbeats too.
import * as Result from "effect/Result"
import { inlineExecutor } from "../../adapters/executor-inline/mod.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import { composeExecutors } from "../../core/ports/Executors.ts"
import type { Project } from "../sdk/config.ts"
import { makeFlowHandlers } from "../sdk/flowHandlers.ts"
import { makeContexts, makeHandlers } from "../sdk/handlers.ts"
import { openWorks } from "../sdk/works.ts"
import type { Place, Said } from "./Place.ts"

/** Opens the handlers of a project. Of the config's storage nothing is opened. */
export const openHere = async (project: Project, say: (said: Said) => void): Promise<Place> => {
  const publish = (event: EngineEvent): void => {
    const said = saidOf(event)
    if (said !== null) say(said)
  }
  const contextOf = makeContexts(publish)
  const works = await openWorks(project.works, publish)
  const handlers = new Map([
    ...makeHandlers(project.jobs, contextOf),
    ...makeFlowHandlers(project.flows, contextOf, works.perform),
  ])
  const executor = Result.getOrThrow(
    composeExecutors([inlineExecutor(handlers), ...works.executors(project.jobs)]),
  )
  return {
    jobs: executor.jobs,
    start: (assignment, began, done) => {
      began()
      return { ...executor.start(assignment, done), kill: null }
    },
    close: works.close,
  }
}

const saidOf = (event: EngineEvent): Said | null => {
  switch (event.kind) {
    case "log":
      return { kind: "log", run: event.run.id, token: event.run.token, line: event.line }
    case "progress": {
      const { run, percent, note } = event
      return { kind: "progress", run: run.id, token: run.token, percent, note }
    }
    case "trouble":
      return { kind: "trouble", doing: event.doing, error: event.error }
    default:
      return null
  }
}
