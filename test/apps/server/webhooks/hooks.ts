// Receivers of webhooks for tests, on this machine, and a deliverer over a real journal in a memory store.
import { createHmac, timingSafeEqual } from "node:crypto"
import { createServer, type Server } from "node:http"

/** A request that a receiver got. */
export interface Got {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const servers: Array<Server> = []

/** Closes all receivers. */
export const closeAll = async (): Promise<void> => {
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    }),
  )
}

/** A receiver that answers as it is told: a status, or `undefined` for never. */
export const receiver = async (
  answer: (got: Got, count: number) => number | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly port: number; readonly got: Array<Got> }> => {
  const got: Array<Got> = []
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8")
    request.on("data", (chunk: string) => (body += chunk))
    request.on("end", () => {
      const each = { headers: request.headers as Record<string, string>, body }
      got.push(each)
      const status = answer(each, got.length)
      if (status !== undefined) response.writeHead(status, headers).end("thank you")
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { port: (server.address() as { readonly port: number }).port, got }
}

/** Whether one of the request's signatures is that of the secret; written anew, from the standard. */
export const isSigned = ({ headers, body }: Got, secret: string): boolean => {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64")
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`
  const wanted = createHmac("sha256", key).update(signed).digest()
  return (headers["webhook-signature"] ?? "").split(" ").some((each) => {
    const [version, text = ""] = each.split(",")
    const given = Buffer.from(text, "base64")
    return version === "v1" && given.length === wanted.length && timingSafeEqual(given, wanted)
  })
}
