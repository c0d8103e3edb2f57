// `/openapi.json` and the reference page: complete, and without anything inline.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { api } from "../../../apps/api/mod.ts"
import { openApi } from "../../../apps/api/openapi.ts"
import { curlOf } from "../../../apps/server/reference/curl.ts"
import { operationsOf } from "../../../apps/server/reference/operations.ts"
import { referencePage } from "../../../apps/server/reference/page.ts"
import { startWorld, type World } from "./api/world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld({ jobs: [], storage: "memory:" })
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.stop()
})

test("/openapi.json is the document", async () => {
  const { status, headers, body } = await world.ask("GET", "/openapi.json")
  expect([status, headers.get("content-type")]).toEqual([200, "application/json"])
  expect(body).toEqual(openApi())
})

describe("/docs", () => {
  test("takes its style from the server only, and has no script and nothing inline", async () => {
    const { status, headers, text } = await world.ask("GET", "/docs")
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"])
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    expect(headers.get("x-frame-options")).toBe("DENY")
    expect(text).not.toMatch(/<script|<style|\sstyle=|\son\w+=|javascript:/i)
    const [, sheet = ""] = /<link rel="stylesheet" href="([^"]+)"/.exec(text) ?? []
    const style = await world.ask("GET", sheet)
    expect([style.status, style.headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"])
    expect(style.headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'")
  })

  test("has every route with its role and its example, and its links lead somewhere", async () => {
    const { text } = await world.ask("GET", "/docs")
    for (const { name, path, summary } of Object.values(api)) {
      expect(text).toContain(`id="${name}"`)
      expect(text).toContain(path)
      expect(text).toContain(summary.replaceAll("'", "&#39;"))
    }
    const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
    const links = [...text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)
    expect(links.length).toBeGreaterThan(Object.keys(api).length)
    expect(links.filter((id) => !ids.has(id))).toEqual([])
  })

  test("what a description says is no markup", () => {
    const document = openApi() as any
    document.paths["/v1/runs"].post.summary = `<img src=x onerror="alert(1)">`
    document.paths["/v1/runs"].post.description = "`</code><script>` & 'so'"
    const page = referencePage(document)
    expect(page).not.toContain("<img")
    expect(page).not.toContain("<script")
    expect(page).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;")
    expect(page).toContain("<code>&lt;/code&gt;&lt;script&gt;</code> &amp; &#39;so&#39;")
  })

  test("the example of a route is a request that fits", () => {
    const document = openApi()
    const operations = operationsOf(document)
    const schemas = (document["components"] as any).schemas
    const sent = operations.find(({ id }) => id === "sendRun")
    if (sent === undefined) throw new Error("no sendRun")
    expect(curlOf(sent, schemas)).toBe(
      [
        "curl -X POST 'http://127.0.0.1:8080/v1/runs'",
        `-H "Authorization: Bearer $UHRWERK_KEY"`,
        "-H 'Content-Type: application/json'",
        `-d '{"job":"JOB"}'`,
      ].join(" \\\n  "),
    )
  })
})

test.each(["/openapi.json", "/docs", "/docs/style.css"])(
  "%s needs no key, and is not for web pages of others",
  async (path) => {
    const code = async (asking: object, url = path) =>
      (await world.ask("GET", url, undefined, asking)).body?.code
    expect((await world.ask("GET", path, undefined, { from: "192.0.2.7" })).status).toBe(200)
    expect(await code({ headers: { origin: "https://evil.example" } })).toBe("foreignOrigin")
    const foreign = await world.app.request(`http://evil.example${path}`, {}, { remoteAddress: "127.0.0.1" })
    expect(foreign.status).toBe(421)
  },
)
