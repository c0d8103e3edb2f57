// The servers that the sides use, as they were found: what an acknowledged job survives depends on them.
import postgres from "postgres"
import { connect } from "node:net"

/** What the servers say of themselves. */
export interface Servers {
  readonly postgres: Readonly<Record<string, string>> | null
  readonly redis: Readonly<Record<string, string>> | null
  /** In words, what an acknowledged job survives. */
  readonly durability: ReadonlyArray<string>
}

const postgresSettings = [
  "server_version",
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "shared_buffers",
]

/** Asks those that are wanted. */
export const askServers = async (wanted: {
  readonly postgres: string | null
  readonly redis: string | null
}): Promise<Servers> => {
  const ofPostgres = wanted.postgres === null ? null : await askPostgres(wanted.postgres)
  const ofRedis = wanted.redis === null ? null : await askRedis(wanted.redis)
  const durability: Array<string> = []
  if (ofPostgres !== null) {
    const isOnDisk = ofPostgres["fsync"] === "on" && ofPostgres["synchronous_commit"] !== "off"
    durability.push(
      `PostgreSQL: fsync ${ofPostgres["fsync"]}, synchronous_commit ${ofPostgres["synchronous_commit"]}: ` +
        (isOnDisk ? "what is acknowledged is on disk" : "NOT all that is acknowledged is on disk"),
    )
  }
  if (ofRedis !== null) {
    const { appendonly, appendfsync, save } = ofRedis
    durability.push(
      appendonly === "yes"
        ? `Redis: appendonly yes, appendfsync ${appendfsync}`
        : `Redis: appendonly no, save "${save}": nothing that is acknowledged is on disk`,
    )
  }
  return { postgres: ofPostgres, redis: ofRedis, durability }
}

/** Settings of a PostgreSQL server, by name. */
export const askPostgres = async (address: string): Promise<Readonly<Record<string, string>>> => {
  const sql = postgres(address, { max: 1, onnotice: () => {} })
  try {
    const rows =
      await sql`select name, current_setting(name) as value from unnest(${postgresSettings}::text[]) as name`
    return Object.fromEntries(rows.map((row) => [String(row["name"]), String(row["value"])]))
  } finally {
    await sql.end()
  }
}

// Four questions in Redis's own protocol: not worth a client that is not installed yet.
const askRedis = async (address: string): Promise<Readonly<Record<string, string>>> => {
  const { hostname, port, username, password } = new URL(address)
  const socket = connect(Number(port || 6379), hostname)
  try {
    const name = username === "" ? "" : `${decodeURIComponent(username)} `
    const login = password === "" ? "" : `AUTH ${name}${decodeURIComponent(password)}\r\n`
    const questions = ["appendonly", "appendfsync", "save"].map((each) => `CONFIG GET ${each}\r\n`)
    socket.write(`${login}${questions.join("")}INFO server\r\nQUIT\r\n`)
    let text = ""
    socket.setTimeout(5000, () => socket.destroy(new Error(`Redis at ${hostname} does not answer`)))
    for await (const part of socket) text += String(part)
    const lines = text.split("\r\n")
    const after = (key: string): string => lines[lines.indexOf(key) + 2] ?? "unknown"
    const version = lines.find((line) => line.startsWith("redis_version:"))?.slice(14) ?? "unknown"
    return {
      version,
      appendonly: after("appendonly"),
      appendfsync: after("appendfsync"),
      save: after("save"),
    }
  } finally {
    socket.destroy()
  }
}
