// `/v1/workers`: those of this server as they are now, and those of the other nodes on its store as each said last.
import { decodeReport } from "../../../core/worker/WorkerReport.ts"
import type { workersApi } from "../../api/workers.ts"
import type { Handlers } from "./Handler.ts"

/** Behind the routes. */
export const workerHandlers: Handlers<typeof workersApi> = {
  listWorkers: async ({ parts }) => {
    const running = parts.engine()
    const others = (await parts.reports())
      .filter(({ node }) => node !== running.node())
      .map(({ workers }) => decodeReport(workers))
    return {
      status: 200,
      body: {
        workers: [...(running.workers?.list() ?? []), ...others.flatMap(({ workers }) => workers)],
        leftOut: others.reduce((sum, { leftOut }) => sum + leftOut, 0),
      },
    }
  },
}
