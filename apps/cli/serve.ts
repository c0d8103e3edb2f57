// `uhrwerk serve`: a node of a project with a port: its own slots, the workers that connect to it, and the HTTP API.
import type { RunningServer, ServerEvent } from "../server/serve.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import { InvalidInput } from "../../core/domain/Errors.ts"
import type { Project } from "../sdk/config.ts"
import { line, say, work, type Working } from "./dev.ts"
import { UsageError } from "./errors.ts"
import { plain } from "./format.ts"
import type { Command, Flags } from "./open.ts"

/** One of any number of nodes over a store that they share. */
export const serve: Command = {
  usage: "serve [CONFIG] [--port N] [--host ADDRESS] [--no-workers]",
  about:
    "run a node of a project, with workers over WebSocket and the HTTP API; any number over one PostgreSQL database",
  run: async (args, flags) => {
    if (flags["fast-forward"] !== undefined) throw new UsageError("--fast-forward belongs to dev")
    if (flags["no-workers"] !== true)
      return work(args, flags, (project, onEvent) => start(project, onEvent, flags))
    for (const name of ["port", "host"] as const)
      if (flags[name] !== undefined) throw new UsageError(`--${name} is of no use with --no-workers`)
    return work(args, flags)
  },
}

const start = async (
  project: Project,
  onEvent: (event: EngineEvent) => void,
  flags: Flags,
): Promise<Working> => {
  const port = portOf(flags.port)
  // Other commands start without all that a server needs.
  const { defaultPort, serveProject } = await import("../server/serve.ts")
  const options = {
    onEvent: (event: ServerEvent): void => (event.kind === "denied" ? printDenied(event) : onEvent(event)),
    ...(flags.host === undefined ? {} : { hostname: flags.host }),
  }
  const server = await serveProject(project, { ...options, port: port ?? defaultPort }).catch(
    (error: unknown) => {
      // Several nodes on one machine need no thought about ports; who names one means it.
      if (port !== undefined || !(error instanceof InvalidInput) || error.field !== "port") throw error
      say(`Port ${defaultPort} is taken: listening on a free one instead. Choose one with --port.`)
      return serveProject(project, { ...options, port: 0 })
    },
  )
  introduce(server)
  return { load: server.engine.load, stop: server.stop }
}

const portOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new UsageError(`--port ${text} is not a whole number from 0 to 65535`)
}

const introduce = ({ url, workerUrl, asksForTokens, asksForKeys }: RunningServer): void => {
  say(`Listening on ${url}`)
  say(
    asksForKeys()
      ? "  each request of the API needs a key: uhrwerk key create --name NAME"
      : "  the API answers this machine without a key; once there is one (uhrwerk key create --name NAME) each request needs one",
  )
  say(`  workers connect to ${workerUrl}, such as: uhrwerk worker --url ${workerUrl}`)
  say(
    asksForTokens()
      ? "  each with a token: uhrwerk token create --name NAME"
      : "  without a token, from this machine only; once there is one (uhrwerk token create --name NAME) each needs one",
  )
}

const whyOf: Readonly<Record<Extract<ServerEvent, { kind: "denied" }>["why"], string>> = {
  missing: "it came without a token",
  malformed: "what it came with is no token",
  unknown: "its token is not in the store: revoked, or of another store",
  wrong: "the secret of its token is wrong",
  expired: "its token has expired",
  broken: "what its token allows cannot be read",
  remote: "it is not on this machine, and there is no token yet",
}

const keyWhyOf: typeof whyOf = {
  missing: "it came without a key",
  malformed: "what it came with is no key",
  unknown: "its key is not in the store: revoked, or of another store",
  wrong: "the secret of its key is wrong",
  expired: "its key has expired",
  broken: "what its key allows cannot be read",
  remote: "it is not on this machine, and there is no key yet",
}

const printDenied = ({
  at,
  address,
  worker,
  why,
  token,
  more,
}: Extract<ServerEvent, { kind: "denied" }>): void =>
  line(
    "yellow",
    "!",
    `Refused ${worker === null ? "a request" : `worker ${plain(worker, 128)}`} of ${plain(address, 64)}: ${
      worker === null ? keyWhyOf[why] : whyOf[why]
    }${token === null ? "" : ` (${worker === null ? "key" : "token"} ${token})`}${
      more === 0 ? "" : `; ${more} more were refused before`
    }`,
    at,
  )
