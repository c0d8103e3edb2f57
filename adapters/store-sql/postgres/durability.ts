// What a server does with what was committed, and what may be lost all the same: by a crash, and by a failover to a
// standby that does not have it yet. Read when a store is opened, so that it promises no more than it can keep.
import { type Finding, ok, warn } from "../../../core/ports/Examination.ts"
import type { StoreCapabilities } from "../../../core/ports/StoreDriver.ts"
import type { Queryable } from "./Connection.ts"

/** A server that follows this one. */
export interface Standby {
  readonly name: string
  /** `null`: this user may not see it. */
  readonly kind: "sync" | "quorum" | "potential" | "async" | null
}

/** How commits are kept. */
export interface Durability {
  readonly fsync: boolean
  /** PostgreSQL's own words: `off`, `local`, `remote_write`, `on`, `remote_apply`. */
  readonly synchronousCommit: string
  readonly fullPageWrites: boolean
  readonly synchronousStandbyNames: string
  readonly standbys: ReadonlyArray<Standby>
}

/** Reads it, as it holds for this user. */
export const readDurability = async (queryable: Queryable): Promise<Durability> => {
  const [settings] = await queryable.query(
    `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commits,
      current_setting('full_page_writes') as pages, current_setting('synchronous_standby_names') as names`,
    [],
  )
  // Without copies that are being made (`backup`), and without subscribers, which nobody fails over to.
  const standbys = await queryable.query(
    `select coalesce(application_name, '') as name, sync_state as kind from pg_catalog.pg_stat_replication as sender
      where state is distinct from 'backup' and not exists (
        select from pg_catalog.pg_replication_slots as slot
        where slot.active_pid = sender.pid and slot.slot_type = 'logical') order by name`,
    [],
  )
  return {
    fsync: settings?.["fsync"] === "on",
    synchronousCommit: String(settings?.["commits"]),
    fullPageWrites: settings?.["pages"] === "on",
    synchronousStandbyNames: String(settings?.["names"]),
    standbys: standbys.map(({ name, kind }) => ({
      name: String(name),
      kind: (kind as Standby["kind"] | undefined) ?? null,
    })),
  }
}

/** What is to be known before a crash or a failover, by those two. `user` is who the store connects as. */
export const durabilityFindings = (durability: Durability, user: string): ReadonlyArray<Finding> => [
  commitsFinding(durability, user),
  replicationFinding(durability, user),
]

/** What a store on this server can promise, and what its engine says about it at its start. */
export const promiseOf = (durability: Durability): Pick<StoreCapabilities, "durable" | "cautions"> => ({
  durable: durability.fsync && durability.synchronousCommit !== "off",
  cautions: durabilityFindings(durability, "")
    .filter(({ state }) => state !== "ok")
    .map(({ found }) => found),
})

const reload = "then run `select pg_reload_conf()`"

const commitsFinding = ({ fsync, synchronousCommit, fullPageWrites }: Durability, user: string): Finding => {
  const what = "commits"
  if (!fsync)
    return warn(
      what,
      "fsync is off: a crash of the server's machine may lose runs that were acknowledged, or ruin the database",
      `Set fsync = on in postgresql.conf, ${reload}.`,
    )
  if (synchronousCommit === "off")
    return warn(
      what,
      "synchronous_commit is off: a crash of the server may lose runs that it acknowledged in the last second",
      `Run \`alter role "${user}" set synchronous_commit = on\`, then restart the nodes.`,
    )
  if (!fullPageWrites)
    return warn(
      what,
      "full_page_writes is off: a power failure may leave pages half written, and the database ruined",
      `Set full_page_writes = on in postgresql.conf, ${reload}, unless the file system writes whole pages.`,
    )
  return ok(
    what,
    `on the server's disk before they are acknowledged (synchronous_commit ${synchronousCommit})`,
  )
}

const replicationFinding = (durability: Durability, user: string): Finding => {
  const { standbys, synchronousCommit, synchronousStandbyNames } = durability
  const what = "replication"
  const wanted = synchronousStandbyNames !== ""
  if (wanted && ["off", "local"].includes(synchronousCommit))
    return warn(
      what,
      `synchronous_commit is ${synchronousCommit}, so commits wait for no standby: a failover may lose runs that were acknowledged`,
      `Run \`alter role "${user}" set synchronous_commit = on\`, then restart the nodes.`,
    )
  if (wanted) {
    const names = standbys.filter(({ kind }) => kind === "sync" || kind === "quorum").map(({ name }) => name)
    return ok(
      what,
      `commits wait for "${synchronousStandbyNames}"${names.length > 0 ? `, now ${list(names)}` : ""}`,
    )
  }
  if (standbys.length === 0)
    return ok(what, "no standby: nothing to fail over to, and nothing that could lack a commit")
  const one = standbys.length === 1
  return warn(
    what,
    `${one ? "the standby" : `${standbys.length} standbys`} ${list(standbys.map(({ name }) => name))} ${
      one ? "is" : "are"
    } asynchronous: a failover may lose the runs that were acknowledged last`,
    `Run \`alter system set synchronous_standby_names = 'ANY 1 (*)'\`, ${reload}; commits then wait for a standby.`,
  )
}

const list = (names: ReadonlyArray<string>): string => names.map((name) => `"${name}"`).join(", ")
