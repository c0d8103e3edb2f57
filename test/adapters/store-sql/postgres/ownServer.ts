// A PostgreSQL server of a test's own, of the binaries that Debian installs: it may be stopped and crashed. Only its own
// pid is ever signalled, by `pg_ctl` and the file that it keeps.
import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

const home = "/usr/lib/postgresql"
const binOf = (version: string): string => join(home, version, "bin")
const versions = existsSync(home)
  ? readdirSync(home).filter((each) => existsSync(join(binOf(each), "pg_ctl")))
  : []
const bin = versions.length === 0 ? null : binOf(versions[versions.length - 1] as string)

/** Why no server can be started here; `null`: one can. */
export const cannotStart = bin === null ? `no PostgreSQL binaries in ${home}` : null

/** A running server. */
export interface OwnServer {
  readonly port: number
  /** With this password for the user `postgres`, unless told otherwise. */
  readonly url: (options?: {
    readonly password?: string
    readonly database?: string
    readonly user?: string
  }) => string
  /** Stops it: `immediate` as in a crash. */
  readonly stop: (mode?: "fast" | "immediate") => void
  readonly start: () => void
  /** Makes a server that follows this one, of the name "standby"; it goes with this one. */
  readonly standby: () => Promise<{ readonly url: string }>
  /** Stops it and removes its files. */
  readonly remove: () => void
}

/** A port of 127.0.0.1 on which nobody listens. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** Makes a cluster and starts it; with a key and its certificate, in PEM, one that encrypts. */
export const startServer = async ({
  tls,
}: {
  readonly tls?: { readonly key: string; readonly certificate: string }
} = {}): Promise<OwnServer> => {
  const folder = mkdtempSync(join(tmpdir(), "uhrwerk-postgres-"))
  const data = join(folder, "data")
  const password = join(folder, "password")
  writeFileSync(password, "secret\n")
  // The server refuses to run as root; whoever else runs this is its owner.
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    mkdirSync(data)
    chmodSync(folder, 0o755)
    execFileSync("chown", ["-R", "postgres", folder])
  }
  const run = (
    program: string,
    args: ReadonlyArray<string>,
    env: Readonly<Record<string, string>> = {},
  ): void => {
    const command = [join(bin as string, program), ...args]
    // Not "pipe": the server would inherit it, and the call would wait for the server's end.
    const options = { stdio: "ignore", cwd: "/", env: { ...process.env, ...env } } as const
    if (isRoot) execFileSync("runuser", ["-u", "postgres", "--", ...command], options)
    else execFileSync(command[0] as string, command.slice(1), options)
  }
  run("initdb", [
    "-D",
    data,
    "-U",
    "postgres",
    "--auth=scram-sha-256",
    `--pwfile=${password}`,
    "-E",
    "UTF8",
    "--no-sync",
  ])
  if (tls !== undefined) {
    writeFileSync(join(data, "server.key"), tls.key, { mode: 0o600 })
    writeFileSync(join(data, "server.crt"), tls.certificate)
    if (isRoot) execFileSync("chown", ["postgres", join(data, "server.key"), join(data, "server.crt")])
  }
  const encrypts = tls === undefined ? "" : " -c ssl=on"
  const port = await freePort()
  const settingsOf = (port: number): string =>
    `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} -c max_connections=40${encrypts}`
  const start = (of = data, at = port): void =>
    run("pg_ctl", ["-D", of, "-w", "-o", settingsOf(at), "-l", join(folder, "log"), "start"])
  const stop = (mode: "fast" | "immediate" = "fast"): void =>
    run("pg_ctl", ["-D", data, "-w", "-m", mode, "stop"])
  start()
  let isRunning = true
  let followers = 0
  return {
    port,
    url: ({ password = "secret", database = "postgres", user = "postgres" } = {}) =>
      `postgres://${user}:${password}@127.0.0.1:${port}/${database}`,
    stop: (mode) => {
      stop(mode)
      isRunning = false
    },
    start: () => {
      start()
      isRunning = true
    },
    standby: async () => {
      const copy = join(folder, `standby${followers++}`)
      const source = `host=127.0.0.1 port=${port} user=postgres application_name=standby`
      const env = { PGPASSWORD: "secret" }
      run("pg_basebackup", ["-d", source, "-D", copy, "-R", "-X", "stream", "-c", "fast", "--no-sync"], env)
      const at = await freePort()
      start(copy, at)
      return { url: `postgres://postgres:secret@127.0.0.1:${at}/postgres` }
    },
    remove: () => {
      for (let follower = 0; follower < followers; follower++)
        run("pg_ctl", ["-D", join(folder, `standby${follower}`), "-w", "-m", "immediate", "stop"])
      if (isRunning) stop("immediate")
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
