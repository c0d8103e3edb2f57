// `/v1/queues`: what waits in them, and letting one rest.
import type { PausedQueue } from "../../../core/run/PausedQueues.ts"
import type { queuesApi } from "../../api/queues.ts"
import { pausedQueues } from "../../sdk/orders.ts"
import { inTime } from "../inTime.ts"
import { answerMillisMax, noAnswer, refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import type { Handlers } from "./Handler.ts"
import { pageByName } from "./pageByName.ts"
import { needsWholeStore } from "./wholeStore.ts"
import { workersOf } from "./workers.ts"

/** Behind the routes. */
export const queueHandlers: Handlers<typeof queuesApi> = {
  listQueues: async ({ query, caller, parts }) => {
    needsWholeStore(caller)
    return { status: 200, body: pageByName("queues", await queuesOf(parts), ({ queue }) => queue, query) }
  },

  getQueue: async ({ params, caller, parts }) => {
    needsWholeStore(caller)
    const found = (await queuesOf(parts)).find(({ queue }) => queue === params.queue)
    if (found !== undefined) return { status: 200, body: found }
    throw refuse(
      "notFound",
      "No job of this server has such a queue, nothing is in it, and it is not paused. Those that there are: GET /v1/queues.",
    )
  },

  pauseQueue: async ({ params, body, caller, parts }) => {
    needsWholeStore(caller)
    const pausing = parts.engine().pauseQueue(params.queue, body.note ?? null, caller.name)
    const paused = pauseView(await inTime(pausing, answerMillisMax, noAnswer))
    const { queue } = params
    return { status: 200, body: { queue, paused }, audit: { queue, note: body.note ?? null } }
  },

  resumeQueue: async ({ params, caller, parts }) => {
    needsWholeStore(caller)
    const { queue } = params
    const wasPaused = await inTime(parts.engine().resumeQueue(queue), answerMillisMax, noAnswer)
    return { status: 200, body: { queue, paused: null }, audit: { queue, wasPaused } }
  },
}

const pauseView = ({ note, by, at }: PausedQueue) => ({ note, by, at })

const queuesOf = async (parts: ApiParts) => {
  const [depths, paused, now, { workers }] = await Promise.all([
    parts.store.queueDepths(),
    pausedQueues(parts.store),
    parts.store.now(),
    workersOf(parts),
  ])
  const own = new Set([...parts.project.book.jobs.values()].map(({ queue }) => queue))
  const { slots: ownSlots } = parts.engine().load()
  const byQueue = new Map(depths.map((depth) => [depth.queue, depth]))
  return [...new Set([...own, ...byQueue.keys(), ...paused.keys()])].map((queue) => {
    const { ready = 0, oldestDueAt = null, running = 0 } = byQueue.get(queue) ?? {}
    const pause = paused.get(queue)
    const takers = workers.filter(({ queues }) => queues === null || queues.includes(queue))
    return {
      queue,
      ready,
      oldestDueAt,
      oldestAgeMillis: oldestDueAt === null ? null : Math.max(0, now - oldestDueAt),
      running,
      paused: pause === undefined ? null : pauseView(pause),
      workers: takers.length,
      slots: takers.reduce((sum, { slots }) => sum + slots, own.has(queue) ? ownSlots : 0),
    }
  })
}
