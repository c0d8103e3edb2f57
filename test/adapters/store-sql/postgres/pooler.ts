// A transaction pooler before the tests' server: PgBouncer, as Debian installs it, on a port of its own. Only its own pid
// is ever signalled.
import { execFileSync, spawn } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "../../../../adapters/store-sql/postgres/connect.ts"
import { freePort } from "./ownServer.ts"
import { missing, url } from "./server.ts"

const program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].find((each) => existsSync(each))

/** Why none can be started here; `null`: one can. */
export const noPooler = missing ?? (program === undefined ? "no pgbouncer is installed" : null)

/** A running pooler. */
export interface Pooler {
  /** Its address, that of a storage without options. */
  readonly url: string
  readonly stop: () => Promise<void>
}

/** Starts one over the tests' server: few connections there, so that transactions change theirs all the time. */
export const startPooler = async (): Promise<Pooler> => {
  const server = new URL(url)
  const database = server.pathname.slice(1)
  const folder = mkdtempSync(join(tmpdir(), "uhrwerk-pooler-"))
  const port = await freePort()
  const password = server.password === "" ? "" : ` password=${decodeURIComponent(server.password)}`
  writeFileSync(join(folder, "users"), `"${server.username}" ""\n`)
  writeFileSync(
    join(folder, "pgbouncer.ini"),
    `[databases]
${database} = host=${server.hostname} port=${server.port || 5432} dbname=${database} user=${server.username}${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
server_round_robin = 1
max_client_conn = 200
`,
  )
  // It refuses to run as root; whoever else runs this is its owner.
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    chmodSync(folder, 0o755)
    execFileSync("chown", ["-R", "postgres", folder])
  }
  const command = [program as string, "-q", join(folder, "pgbouncer.ini")]
  const [first = "", ...rest] = isRoot
    ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", ...command]
    : command
  const child = spawn(first, rest, { stdio: "ignore" })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const address = new URL(url)
  address.hostname = "127.0.0.1"
  address.port = String(port)
  address.password = ""
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL")
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  for (let tries = 0; ; tries++) {
    const connection = connect({
      url: address.toString(),
      prepare: false,
      connectMillis: 1000,
      connectionsMax: 1,
    })
    try {
      await connection.query("select 1", [])
      return { url: address.toString(), stop }
    } catch (error) {
      if (tries < 50) {
        await new Promise((resolve) => setTimeout(resolve, 100))
        continue
      }
      await stop()
      throw error
    } finally {
      await connection.close()
    }
  }
}
