// A MariaDB server of a test's own, of the binaries that Debian installs: it may be stopped and killed. Only the process
// that was started here is ever signalled.
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "../../../plugins/store-mysql/connect.ts"
import { targetOf } from "../../../plugins/store-mysql/target.ts"

const programs = { make: "/usr/bin/mariadb-install-db", serve: "/usr/sbin/mariadbd" }

/** Why no server can be started here; `null`: one can. */
export const cannotStart = Object.values(programs).every((path) => existsSync(path))
  ? null
  : `no MariaDB at ${Object.values(programs).join(" and ")}`

/** A running server; its user `root` has no password. */
export interface OwnServer {
  readonly url: string
  readonly port: number
  /** Stops it: in order, or as in a crash. */
  readonly stop: (signal: "SIGTERM" | "SIGKILL") => Promise<void>
  /** Starts it again, with settings such as `max-allowed-packet=1M`. */
  readonly start: (...settings: ReadonlyArray<string>) => Promise<void>
  /** Stops it and removes its files. */
  readonly remove: () => Promise<void>
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

const startMillis = 20_000

/** Makes its files and starts it. */
export const startServer = async (): Promise<OwnServer> => {
  const folder = mkdtempSync(join(tmpdir(), "uhrwerk-mariadb-"))
  const data = join(folder, "data")
  // The server does not run as root; whoever else runs this is its owner.
  const user = process.getuid?.() === 0 ? ["--user=mysql"] : []
  chmodSync(folder, 0o755)
  const common = ["--no-defaults", `--datadir=${data}`, ...user]
  const making = [...common, "--auth-root-authentication-method=normal", "--skip-test-db"]
  execFileSync(programs.make, making, { stdio: "ignore", cwd: "/" })
  const port = await freePort()
  const url = `mysql://root@127.0.0.1:${port}`
  let child: ChildProcess | undefined

  const answers = async (): Promise<boolean> => {
    const connection = connect(targetOf(url), { connectMillis: 1000, connectionsMax: 1 }, null)
    try {
      await connection.read("select 1")
      return true
    } catch {
      return false
    } finally {
      await connection.close()
    }
  }
  const start = async (...settings: ReadonlyArray<string>): Promise<void> => {
    const own = [
      `--port=${port}`,
      "--bind-address=127.0.0.1",
      `--socket=${data}/socket`,
      `--pid-file=${data}/pid`,
    ]
    const small = ["--innodb-buffer-pool-size=16M", ...settings.map((setting) => `--${setting}`)]
    child = spawn(programs.serve, [...common, ...own, ...small], { stdio: "ignore", cwd: "/" })
    for (const until = performance.now() + startMillis; !(await answers());) {
      if (child.exitCode !== null || performance.now() > until) throw new Error("MariaDB does not start")
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const stop = async (signal: "SIGTERM" | "SIGKILL"): Promise<void> => {
    const ending = child
    child = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
    await new Promise<void>((resolve) => {
      ending.once("exit", () => resolve())
      ending.kill(signal)
    })
  }
  await start()
  return {
    url,
    port,
    start,
    stop,
    remove: async () => {
      await stop("SIGKILL")
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
