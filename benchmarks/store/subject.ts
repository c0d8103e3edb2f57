// The store that is measured: its driver as the engine uses it.
import { postgresDriver } from "../../adapters/store-sql/postgres.ts"
import { makeIds } from "../../core/domain/Ids.ts"
import { job, queue, type Side } from "./Side.ts"

const leaseMillis = 600_000

/** Ids as the engine makes them. */
export const ids = makeIds(Date.now, () => (Math.random() * 2 ** 32) | 0)

/** Opens the store in a schema, which it makes when it is not there. */
export const openStore = async (address: string, schema: string, name: string): Promise<Side> => {
  const driver = await postgresDriver({ url: address, schema })
  const identity = { id: ids(), host: "bench", pid: process.pid, runtime: "bench" }
  const node = await driver.join(identity, leaseMillis)
  return {
    name,
    schema,
    enqueue: async (runs) => driver.enqueue(runs),
    claim: async (limit) =>
      driver.claim({ node: node.id, queues: [queue], jobs: [job], limit, acknowledged: true, expanding: [] }),
    settle: async (held) =>
      driver.settle(held.map(({ id, token }) => ({ id, token, kind: "succeeded", output: null }))),
    ended: async () =>
      (await driver.counts()).find((each) => each.job === job && each.state === "succeeded")?.count ?? 0,
    close: async () => {
      await driver.leave(node.id)
      await driver.close()
    },
  }
}
