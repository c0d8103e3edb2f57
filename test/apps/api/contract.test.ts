// The contract of every route, against a real engine: each documented success and each documented problem has a request
// that causes it, and nothing is ever answered that is not documented. A route without examples fails here.
import { readdirSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import {
  api,
  bodyProblems,
  commonProblems,
  type Endpoint,
  isAudited,
  isIdempotent,
  type ProblemCode,
  type Role,
} from "../../../apps/api/mod.ts"
import { problemsOf } from "../../../apps/api/problemsOf.ts"
import type { Config } from "../../../apps/sdk/config.ts"
import { bodyBytesMax } from "../../../apps/server/guards.ts"
import { StoreError } from "../../../core/domain/Errors.ts"
import { stopped } from "../../../core/run/Enqueue.ts"
import { startWorld, type World } from "../server/api/world.ts"
import { type Asking, askOf, askRoute, type Seen, stageOf } from "./Contract.ts"
import type { Ask, Example, Group } from "./examples/Example.ts"

const folder = new URL("examples/", import.meta.url)
const files = readdirSync(folder).filter((file) => file !== "Example.ts")
const groups = await Promise.all(files.map((file) => import(new URL(file, folder).href) as Promise<Group>))
const examples: Readonly<Record<string, ReadonlyArray<Example>>> = Object.assign(
  {},
  ...groups.map((group) => group.examples),
)
const endpoints: ReadonlyArray<Endpoint> = Object.values(api)
const unsafe = endpoints.filter(({ method }) => method !== "get")
const examplesOf = ({ name }: Endpoint): ReadonlyArray<Example> => examples[name] ?? []
const named = (all: ReadonlyArray<Endpoint>) => all.map((endpoint) => [endpoint.name, endpoint] as const)

const config: Config = {
  ...Object.assign({}, ...groups.map((group) => group.config)),
  jobs: groups.flatMap((group) => group.config.jobs ?? []),
  storage: "memory:",
}

let world: World
let admin = ""
beforeAll(async () => {
  world = await startWorld(config, null, { workers: true })
  admin = await world.makeKey({ name: "contract", role: "admin" })
})
afterAll(() => world.stop())

const ask = (endpoint: Endpoint, given: Ask, asking: Asking = {}): Promise<Seen> =>
  askRoute(world, endpoint, given, { key: admin, ...asking })
/** A request that succeeds. */
const good = async (endpoint: Endpoint): Promise<Ask> => {
  const [first] = examplesOf(endpoint)
  if (first === undefined)
    throw new Error(
      missing(
        endpoint,
        endpoint.success.map(({ status }) => status),
      ),
    )
  return askOf(first, stageOf(world, admin))
}

// These no request can cause by itself: the test does, below.
const made: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  ...commonProblems,
  ...bodyProblems,
  "badHeader",
  "inProgress",
  "keyReused",
  "changed",
  "overloaded",
])

const missing = ({ name, tag }: Endpoint, gives: ReadonlyArray<number | string>): string =>
  `There is no request that causes ${gives.join(", ")} of ${name}. Add to \`examples\` of test/apps/api/examples/${tag}.ts:\n` +
  `  ${name}: [${gives.map((each) => `{ gives: ${typeof each === "number" ? each : `"${each}"`}, ask: { params, query, body } }`).join(", ")}],`

describe("every success and every problem of its own has an example", () => {
  test.each(named(endpoints))("%s", (_, endpoint) => {
    const given = new Set<number | string>(examplesOf(endpoint).map(({ gives }) => gives))
    const wanted = [
      ...endpoint.success.map(({ status }) => status),
      ...endpoint.problems.filter((code) => !made.has(code)),
    ]
    const open = [...new Set(wanted)].filter((each) => !given.has(each))
    if (open.length > 0) throw new Error(missing(endpoint, open))
    expect(typeof examplesOf(endpoint)[0]?.gives).toBe("number")
  })

  test("and there are none of routes that are not there", () => {
    expect(Object.keys(examples).filter((name) => !Object.hasOwn(api, name))).toEqual([])
  })
})

describe("each example causes what it says", () => {
  const all = endpoints.flatMap((endpoint) =>
    examplesOf(endpoint)
      .filter(({ gives }) => typeof gives === "number" || !made.has(gives))
      .map((example, place) => [`${endpoint.name} > ${example.gives}, ${place}`, endpoint, example] as const),
  )
  test.each(all)("%s", async (_, endpoint, example) => {
    const { gave, headers, text } = await ask(endpoint, await askOf(example, stageOf(world, admin)))
    expect(gave, text).toBe(example.gives)
    if (typeof gave !== "number") return
    const said = endpoint.success.filter(({ status }) => status === gave)
    // What one may say and another not, such as `preference-applied`, is for the tests of its group.
    if (said.some((each) => each.headers?.["location"] !== undefined))
      expect(headers.get("location")).toMatch(/^\/v1\//)
    // What is gone has no version.
    if (endpoint.conditional === true && gave !== 204) expect(headers.get("etag")).toMatch(/^"/)
  })
})

describe("what every route refuses", () => {
  const refused = (
    name: string,
    all: ReadonlyArray<Endpoint>,
    cause: (endpoint: Endpoint) => Promise<Seen>,
    code: ProblemCode,
  ) =>
    test.each(named(all))(`${name} > %s`, async (_, endpoint) => {
      const { gave, text } = await cause(endpoint)
      expect(gave, text).toBe(code)
      expect(problemsOf(endpoint)).toContain(code)
    })
  const guarded = endpoints.filter(({ role }) => role !== "public")
  const withBody = endpoints.filter(({ body }) => body !== undefined)
  const idempotent = endpoints.filter(isIdempotent)

  refused(
    "no key",
    guarded,
    async (endpoint) => askRoute(world, endpoint, await good(endpoint)),
    "unauthenticated",
  )
  refused(
    "a page of another origin",
    guarded,
    async (endpoint) => {
      const given = await good(endpoint)
      return ask(endpoint, { ...given, headers: { ...given.headers, origin: "https://evil.example" } })
    },
    "foreignOrigin",
  )
  refused(
    "another host",
    guarded,
    async (endpoint) => ask(endpoint, await good(endpoint), { host: "evil.example" }),
    "foreignHost",
  )
  refused(
    "a query that is not known",
    endpoints,
    async (endpoint) => {
      const given = await good(endpoint)
      return ask(endpoint, { ...given, query: { ...given.query, novel: "1" } })
    },
    "invalidRequest",
  )

  refused(
    "no JSON",
    withBody,
    async (endpoint) => ask(endpoint, { ...(await good(endpoint)), body: "{" }),
    "badJson",
  )
  refused(
    "a list in place of an object",
    withBody,
    async (endpoint) => ask(endpoint, { ...(await good(endpoint)), body: [[]] }),
    "invalidBody",
  )
  refused(
    "a field that is not known",
    withBody,
    async (endpoint) => {
      const given = await good(endpoint)
      return ask(endpoint, { ...given, body: { ...(given.body as object | undefined), novel: 1 } })
    },
    "invalidBody",
  )
  refused(
    "another type",
    withBody,
    async (endpoint) => {
      const given = await good(endpoint)
      return ask(endpoint, {
        ...given,
        body: given.body ?? {},
        headers: { ...given.headers, "content-type": "text/plain" },
      })
    },
    "notJson",
  )
  refused(
    "a body over the limit",
    unsafe,
    async (endpoint) => ask(endpoint, { ...(await good(endpoint)), body: `"${"x".repeat(bodyBytesMax)}"` }),
    "tooLarge",
  )

  refused(
    "an Idempotency-Key that is none",
    idempotent,
    async (endpoint) => {
      const given = await good(endpoint)
      return ask(endpoint, { ...given, headers: { ...given.headers, "idempotency-key": "x".repeat(256) } })
    },
    "badHeader",
  )
  refused(
    "one that was used for another request",
    idempotent,
    async (endpoint) => {
      const headers = { "idempotency-key": `reused ${endpoint.name}` }
      const other = endpoint.name === "createKey" ? api.createToken : api.createKey
      await ask(other, { ...(await good(other)), headers })
      const given = await good(endpoint)
      return ask(endpoint, { ...given, headers: { ...given.headers, ...headers } })
    },
    "keyReused",
  )
  refused(
    "one that is still being answered",
    idempotent,
    async (endpoint) => {
      const given = await good(endpoint)
      const asked = { ...given, headers: { ...given.headers, "idempotency-key": `twice ${endpoint.name}` } }
      const [first, second] = await Promise.all([ask(endpoint, asked), ask(endpoint, asked)])
      return typeof first.gave === "number" ? second : first
    },
    "inProgress",
  )

  const conditional = endpoints.filter(({ conditional: is = false, method }) => is && method !== "get")
  refused(
    "an If-Match of another version",
    conditional,
    async (endpoint) => {
      const given = await good(endpoint)
      return ask(endpoint, { ...given, headers: { ...given.headers, "if-match": '"novel"' } })
    },
    "changed",
  )
})

describe("a key may do what its role says", () => {
  const roles = ["viewer", "operator", "admin"] as const
  const keys = new Map<Role, string>()
  beforeAll(async () => {
    for (const role of roles) keys.set(role, await world.makeKey({ name: `role ${role}`, role }))
  })
  const guarded = endpoints.filter(({ role }) => role !== "public")

  test.each(named(guarded))("%s", async (_, endpoint) => {
    for (const role of roles) {
      const given = await good(endpoint)
      const { gave } = await ask(endpoint, given, { key: keys.get(role) ?? "" })
      const may = roles.indexOf(role) >= roles.indexOf(endpoint.role as (typeof roles)[number])
      expect([role, gave]).toEqual([role, may ? expect.any(Number) : "forbidden"])
    }
  })

  test("whatever changes something takes more than a viewer", () => {
    expect(
      unsafe
        // A question that is asked by POST, as it is long, changes nothing and is not audited.
        .filter((endpoint) => isAudited(endpoint) && ["public", "viewer"].includes(endpoint.role))
        .map(({ name }) => name),
    ).toEqual([])
  })
})

describe("from outside", () => {
  let open: World
  let slow: World
  beforeAll(async () => {
    open = await startWorld(config)
    slow = await startWorld(config, { perSecond: 0.001, burst: 1 })
    await slow.ask("GET", "/v1/me")
  })
  afterAll(async () => {
    await open.stop()
    await slow.stop()
  })
  const guarded = endpoints.filter(({ role }) => role !== "public")

  test.each(named(guarded))("another machine, while there is no key: %s", async (_, endpoint) => {
    const { gave } = await askRoute(open, endpoint, await good(endpoint), { from: "192.0.2.7" })
    expect(gave).toBe("notLocal")
  })

  test.each(named(guarded))("too often: %s", async (_, endpoint) => {
    const { gave, headers } = await askRoute(slow, endpoint, await good(endpoint))
    expect([gave, Number(headers.get("retry-after"))]).toEqual(["tooMany", expect.any(Number)])
  })
})

describe("when something fails within", () => {
  const failing = (error: () => unknown) => {
    const fail = () => Promise.reject(error())
    const all = [world.store, world.engine] as unknown as ReadonlyArray<Record<string, () => unknown>>
    for (const part of all)
      for (const [name, value] of Object.entries(part))
        // Who asks is known without the store; time goes on.
        if (typeof value === "function" && !["now", "on", "stop", "node", "credentials"].includes(name))
          vi.spyOn(part, name).mockImplementation(fail)
  }
  const unavailable = () =>
    new StoreError({
      driver: "test",
      operation: "any",
      cause: new Error("down"),
      outcomeUnknown: true,
    })

  // One that asks neither the store nor the engine goes on; any other must say it, and nothing else.
  test.each(
    endpoints.flatMap((endpoint) =>
      (
        [
          ["storeUnavailable", unavailable],
          ["notServing", stopped],
          ["internal", () => new Error("of nobody's")],
        ] as const
      ).map(([code, error]) => [`${endpoint.name}: ${code}`, endpoint, code, error] as const),
    ),
  )("%s", async (_, endpoint, code, error) => {
    const given = await good(endpoint)
    failing(error)
    try {
      const { gave, headers, body } = await ask(endpoint, given)
      if (typeof gave !== "number") expect(gave).toBe(code)
      if (body?.retryable === true) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0)
    } finally {
      vi.restoreAllMocks()
    }
  })

  test("the store is asked by most routes, and then they all say so", async () => {
    const gave: Array<unknown> = []
    for (const endpoint of endpoints) {
      const given = await good(endpoint)
      failing(unavailable)
      gave.push((await ask(endpoint, given)).gave)
      vi.restoreAllMocks()
    }
    expect(gave.filter((each) => each === "storeUnavailable").length).toBeGreaterThan(endpoints.length / 2)
  })

  test("too many requests wait to be stored", async () => {
    const all = endpoints.filter(({ problems }) => problems.includes("overloaded"))
    for (const endpoint of all) {
      const given = await good(endpoint)
      failing(() => Object.assign(new Error("too many wait"), { name: "Overloaded" }))
      expect([endpoint.name, (await ask(endpoint, given)).gave]).toEqual([endpoint.name, "overloaded"])
      vi.restoreAllMocks()
    }
    expect(all.length).toBeGreaterThan(0)
  })
})
