// Encrypted connections, to a server of our own whose certificate we made, by what an address says.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { examinePostgres, postgresDriver } from "../../../../adapters/store-sql/postgres.ts"
import { connect } from "../../../../adapters/store-sql/postgres/connect.ts"
import { openNotifier } from "../../../../adapters/store-sql/postgres/notifier.ts"
import { encryptionOf } from "../../../../adapters/store-sql/postgres/tls.ts"
import { cannotStart, type OwnServer, startServer } from "./ownServer.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-tls-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A key and a certificate for these names, made by openssl. */
const makeCertificate = (name: string, names: string) => {
  const [key, certificate] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)]
  const subject = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=${names}`]
  const files = ["-keyout", key, "-out", certificate]
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...subject, ...files],
    { stdio: "ignore" },
  )
  return { key: readFileSync(key, "utf8"), certificate: readFileSync(certificate, "utf8"), file: certificate }
}
const noOpenssl = (() => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" })
    return null
  } catch {
    return "no openssl is installed"
  }
})()
const reason = cannotStart ?? noOpenssl

test("what an address says, and what it does not", () => {
  const base = "postgres://me@db.example/test"
  expect(encryptionOf(`${base}?schema=a`)).toEqual({ url: `${base}?schema=a`, ssl: undefined })
  expect(encryptionOf(`${base}?sslmode=disable`)).toEqual({ url: base, ssl: false })
  expect(encryptionOf(`${base}?sslmode=require`)).toEqual({ url: base, ssl: "require" })
  expect(encryptionOf(`${base}?sslmode=verify-full`)).toMatchObject({
    url: base,
    ssl: { rejectUnauthorized: true },
  })
  expect(() => encryptionOf(`${base}?sslmode=yes`)).toThrow(/none of disable, allow/)
  expect(() => encryptionOf(`${base}?sslrootcert=${join(folder, "none.crt")}`)).toThrow(/cannot be read/)
})

describe.skipIf(reason !== null)(`a server that encrypts${reason === null ? "" : ` (${reason})`}`, () => {
  let server: OwnServer
  let own: string
  let other: string
  beforeAll(async () => {
    const made = makeCertificate("own", "IP:127.0.0.1")
    own = made.file
    other = makeCertificate("other", "IP:127.0.0.1").file
    server = await startServer({ tls: made })
  })
  afterAll(() => server?.remove())

  const isEncrypted = async (options: string, host = "127.0.0.1"): Promise<boolean> => {
    const url = server.url().replace("127.0.0.1", host)
    const connection = connect({ url: `${url}?${options}`, connectionsMax: 1, connectMillis: 5000 })
    try {
      const [row] = await connection.query(
        "select ssl::int as ssl from pg_stat_ssl where pid = pg_backend_pid()",
        [],
      )
      return row?.["ssl"] === 1
    } finally {
      await connection.close()
    }
  }

  test("is spoken to as the address says", async () => {
    expect(await isEncrypted("sslmode=disable")).toBe(false)
    expect(await isEncrypted("sslmode=prefer")).toBe(true)
    expect(await isEncrypted("sslmode=require")).toBe(true)
    expect(await isEncrypted(`sslmode=verify-full&sslrootcert=${own}`)).toBe(true)
    expect(await isEncrypted(`sslmode=verify-ca&sslrootcert=${own}`, "localhost")).toBe(true)
  })

  test("is not trusted for another's certificate, nor under another name", async () => {
    await expect(isEncrypted("sslmode=verify-full")).rejects.toThrow()
    await expect(isEncrypted(`sslmode=require&sslrootcert=${other}`)).rejects.toThrow()
    await expect(isEncrypted(`sslmode=verify-full&sslrootcert=${own}`, "localhost")).rejects.toThrow()
    const url = `${server.url()}?sslmode=verify-full`
    await expect(postgresDriver({ url, connectMillis: 5000 })).rejects.toMatchObject({
      _tag: "StoreUnusable",
      kind: "denied",
      next: expect.stringContaining("sslrootcert"),
    })
  })

  test("carries a store and its hints", async () => {
    const url = `${server.url()}?sslmode=verify-full&sslrootcert=${own}`
    const store = await postgresDriver({ url })
    expect(await store.counts()).toEqual([])
    await store.close()
    const [one, two] = [openNotifier({ url }), openNotifier({ url })]
    const heard: Array<unknown> = []
    two.subscribe((hint) => void heard.push(hint))
    await expect
      .poll(
        () => {
          one.publish({ kind: "schedules" })
          return heard.length
        },
        { timeout: 15_000, interval: 200 },
      )
      .toBeGreaterThan(0)
    await one.close()
    await two.close()
    const { findings, store: found } = await examinePostgres({ url })
    expect(findings.find(({ what }) => what === "encryption")).toMatchObject({
      state: "ok",
      found: expect.stringContaining("TLSv1"),
    })
    await found?.close()
  })
})
