// A PostgreSQL server of a test's own, of the binaries that Debian installs: it may be stopped and crashed. Only its own
// pid is ever signalled, by `pg_ctl` and the file that it keeps.
import { execFileSync, spawn } from "node:child_process"
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
  /** Both, one after the other, for whoever has to go on meanwhile; `beforeStart` is between the two. */
  readonly restart: (mode: "fast" | "immediate", beforeStart: () => Promise<void>) => Promise<void>
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
  connectionsMax = 40,
  tls,
}: {
  readonly connectionsMax?: number
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
  const commandOf = (program: string, args: ReadonlyArray<string>): readonly [string, Array<string>] => {
    const command = join(bin as string, program)
    return isRoot ? ["runuser", ["-u", "postgres", "--", command, ...args]] : [command, [...args]]
  }
  // Not "pipe": the server would inherit it, and the call would wait for the server's end.
  const options = { stdio: "ignore", cwd: "/" } as const
  const run = (
    program: string,
    args: ReadonlyArray<string>,
    env: Readonly<Record<string, string>> = {},
  ): void => {
    execFileSync(...commandOf(program, args), { ...options, env: { ...process.env, ...env } })
  }
  const runBeside = (program: string, args: ReadonlyArray<string>): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = spawn(...commandOf(program, args), options)
      child.once("error", reject)
      child.once("exit", (code) =>
        code === 0 ? resolve() : reject(new Error(`${program} ${args.join(" ")} ended with ${code}`)),
      )
    })
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
    `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} -c max_connections=${connectionsMax}${encrypts}`
  const starting = (of = data, at = port): ReadonlyArray<string> => [
    "-D",
    of,
    "-w",
    "-o",
    settingsOf(at),
    "-l",
    join(folder, "log"),
    "start",
  ]
  const stopping = (mode: "fast" | "immediate"): ReadonlyArray<string> => [
    "-D",
    data,
    "-w",
    "-m",
    mode,
    "stop",
  ]
  const start = (of?: string, at?: number): void => run("pg_ctl", starting(of, at))
  const stop = (mode: "fast" | "immediate" = "fast"): void => run("pg_ctl", stopping(mode))
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
    restart: async (mode, beforeStart) => {
      await runBeside("pg_ctl", stopping(mode))
      isRunning = false
      await beforeStart()
      await runBeside("pg_ctl", starting())
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
