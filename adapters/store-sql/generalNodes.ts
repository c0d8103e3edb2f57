// The general way of the operations on nodes and credentials, which each database of this folder has statements of its own
// for.
import type {
  CredentialStoreDriver,
  NodeStoreDriver,
  StoreCapabilities,
} from "../../core/ports/StoreDriver.ts"
import {
  checkBatch,
  checkCredential,
  checkWorkers,
  credentialsMax,
  tooManyCredentials,
} from "../../core/ports/StoreLimits.ts"
import type { RunGeneral } from "./GeneralStore.ts"
import { done, wait } from "./Sql.ts"

const repeatable = { repeatable: true }

const ascending = <A>(rows: ReadonlyArray<A>, keyOf: (row: A) => string | number): ReadonlyArray<A> =>
  [...rows].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0))

/** Makes them; a store that is not `shared` serves the node that joined last. */
export const generalNodes = (
  run: RunGeneral,
  { shared }: Pick<StoreCapabilities, "shared">,
): NodeStoreDriver => ({
  join: ({ id, host, pid, runtime }, leaseMillis) =>
    run(function* (_, { nodes, now }) {
      if (!shared) for (const other of yield* wait(nodes.all())) yield* wait(nodes.remove(other.id))
      const node = { id, startedAt: now(), host, pid, runtime, expiresAt: now() + leaseMillis }
      yield* wait(nodes.put(node))
      return node
    }),
  renew: (id, leaseMillis) =>
    run((_, { nodes, now }) => wait(nodes.extend(id, now() + leaseMillis)), repeatable),
  leave: (id) => run((_, { nodes }) => wait(nodes.remove(id))),
  nodes: () =>
    run(function* (_, { nodes }) {
      return ascending(yield* wait(nodes.all()), ({ startedAt }) => startedAt)
    }, repeatable),
  reportWorkers: (id, workers) => {
    checkWorkers(workers)
    return run((_, { nodes }) => wait(nodes.report(id, workers)), repeatable)
  },
  workers: () =>
    run(function* (_, { nodes }) {
      return ascending(yield* wait(nodes.reports()), ({ node }) => node)
    }, repeatable),
})

/** Makes them. */
export const generalCredentials = (run: RunGeneral): CredentialStoreDriver => ({
  putCredential: (credential) => {
    checkCredential(credential)
    return run(function* (_, { credentials, now }) {
      const { id, kind, name, hash, scope, expiresAt } = credential
      const row = { id, kind, name, hash, scope, expiresAt, createdAt: now() }
      if (!(yield* wait(credentials.insert(row)))) return "exists"
      if ((yield* wait(credentials.count())) > credentialsMax) throw tooManyCredentials()
      return "created"
    })
  },
  credentials: () =>
    run(function* (_, { credentials }) {
      return ascending(yield* wait(credentials.all()), ({ id }) => id)
    }, repeatable),
  deleteCredentials: (ids) => {
    checkBatch("ids", ids)
    return run((_, { credentials }) => (ids.length === 0 ? done(0) : wait(credentials.remove(ids))))
  },
})
