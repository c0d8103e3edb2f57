// `/v1/workers`: those of this server as they are now, and those of the other nodes on its store as each said last.
import { Hono } from "hono"
import type { NodeWorkers } from "../../core/ports/StoreDriver.ts"
import { decodeReport } from "../../core/worker/WorkerReport.ts"
import type { RunningEngine } from "../sdk/engine.ts"
import { inTime } from "./inTime.ts"
import { answerMillisMax, noAnswer } from "./problems.ts"
import type { ServerEnv } from "./ServerEnv.ts"

/** The route. `engine` throws while there is none. */
export const workerRoutes = (
  engine: () => RunningEngine,
  reports: () => Promise<ReadonlyArray<NodeWorkers>>,
): Hono<ServerEnv> =>
  new Hono<ServerEnv>().get("/", async (c) => {
    const running = engine()
    const said = await inTime(reports(), answerMillisMax, noAnswer)
    const others = said
      .filter(({ node }) => node !== running.node())
      .map(({ workers }) => decodeReport(workers))
    return c.json({
      workers: [...(running.workers?.list() ?? []), ...others.flatMap(({ workers }) => workers)],
      leftOut: others.reduce((sum, { leftOut }) => sum + leftOut, 0),
    })
  })
