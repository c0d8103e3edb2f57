// The receiver in the server's README, as it stands there, takes what a server sends and refuses what is changed or old.
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Result from "effect/Result"
import { afterAll, afterEach, expect, test } from "vitest"
import { parseSecrets, signatureHeaders } from "../../../../adapters/executor-http/signature.ts"
import { newSecret } from "../../../../apps/server/webhooks/Webhook.ts"
import { type RunningServer, serve } from "../../../../apps/server/mod.ts"
import { config, greet, until } from "../project.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const folder = mkdtempSync(join(root, "test/.readme-receiver-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const ends: Array<() => void> = []
const servers: Array<RunningServer> = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((each) => each.stop({ grace: 0 })))
  for (const end of ends.splice(0)) end()
})

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as { readonly port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

const receive = async (port: number, secret: string) => {
  const text = readFileSync(join(root, "apps/server/README.md"), "utf8")
  const [, code = ""] = /```ts\n(\/\/ receiver\n[\s\S]*?)```/.exec(text) ?? []
  expect(code).not.toBe("")
  const file = join(folder, `receiver${port}.ts`)
  writeFileSync(file, code)
  const args = process.versions["deno"] === undefined ? [file] : ["run", "-A", file]
  const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) }
  const child = spawn(process.execPath, args, { env, cwd: root })
  ends.push(() => child.kill("SIGKILL"))
  const said = { text: "" }
  child.stdout.setEncoding("utf8").on("data", (more: string) => (said.text += more))
  const isUp = async (): Promise<boolean> => {
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "{}" }).catch(
      () => undefined,
    )
    return answer?.status === 401
  }
  await until("the receiver", isUp, Boolean)
  return said
}

test("it takes what a server sends it", async () => {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const server = await serve(
    { ...config, executors: { request: { origins: [origin], networks: ["127.0.0.1"] } } },
    { port: 0, guard: false },
  )
  servers.push(server)
  const made = await fetch(`${server.url}/v1/webhooks`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "readme", url: origin, types: ["uhrwerk.run.ended"] }),
  })
  const { secret } = (await made.json()) as { readonly secret: string }
  const said = await receive(port, secret)
  await server.engine.send(greet, { name: "Ada" })
  await until(
    "the event",
    () => said.text,
    (text) => text.includes("uhrwerk.run.ended greet succeeded"),
  )
})

test("it refuses another secret, another body and an old request, and tells an event once", async () => {
  const port = await freePort()
  const secret = newSecret()
  const said = await receive(port, secret)
  const post = async (by: string, at: number, body: string, sent = body): Promise<number> => {
    const secrets = Result.getOrThrow(parseSecrets("secret", by))
    const headers = signatureHeaders(secrets, "e1", at, body)
    return (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body: sent })).status
  }
  const body = JSON.stringify({ id: "e1", type: "t", data: { job: "a", state: "b" } })
  expect(await post(newSecret(), Date.now(), body)).toBe(401)
  expect(await post(secret, Date.now(), body, `${body} `)).toBe(401)
  expect(await post(secret, Date.now() - 600_000, body)).toBe(401)
  expect(await post(secret, Date.now(), body)).toBe(204)
  expect(await post(secret, Date.now(), body)).toBe(204)
  await until(
    "the line",
    () => said.text,
    (text) => text.includes("t a b"),
  )
  expect(said.text.match(/t a b/g)).toHaveLength(1)
})
