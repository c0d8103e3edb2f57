// `/v1/info`: which server answers, on which store, and who asks.
import { zoneDataVersion } from "../../../core/trigger/Zone.ts"
import type { infoApi } from "../../api/info.ts"
import { version } from "../../cli/version.ts"
import { runtimeName } from "../../sdk/runtime.ts"
import type { Handlers } from "./Handler.ts"

/** Behind the route. */
export const infoHandlers: Handlers<typeof infoApi> = {
  getInfo: async ({ caller, parts: { engine, store } }) => {
    const running = engine()
    const { name, durable, shared, cautions = [] } = store.capabilities
    const [nodes, storeNow] = await Promise.all([store.nodes(), store.now()])
    return {
      status: 200,
      body: {
        version,
        runtime: runtimeName(),
        node: running.node(),
        startedAt: nodes.find(({ id }) => id === running.node())?.startedAt ?? null,
        draining: running.isDraining(),
        store: { name, durable, shared, cautions },
        storeNow,
        serverNow: Date.now(),
        zoneData: zoneDataVersion(process.versions),
        caller: { kind: caller.kind, name: caller.name, role: caller.role, namespace: caller.namespace },
      },
    }
  },
}
