// Hints between processes: what is gathered is sent once, what is not ours is not read, and after a lost connection
// hints arrive again.
import { afterAll, afterEach, describe, expect, test } from "vitest"
import { connect } from "../../../../adapters/store-sql/postgres/connect.ts"
import { Gathered, hintsOf, payloadsOf } from "../../../../adapters/store-sql/postgres/hints.ts"
import { openNotifier, type OpenNotifier } from "../../../../adapters/store-sql/postgres/notifier.ts"
import type { Hint } from "../../../../core/ports/Notifier.ts"
import { dropSchemas, missing, schemaName, url } from "./server.ts"

describe("gathered hints", () => {
  test("each thing is sent once, and nothing is left", () => {
    const gathered = new Gathered()
    const ids = Array.from({ length: 400 }, (_, index) => `id${index}`)
    for (const hint of [
      { kind: "runs", dueAt: 0 },
      { kind: "schedules" },
      { kind: "runs", dueAt: 9 },
      { kind: "runs", dueAt: 0 },
      { kind: "schedules" },
      { kind: "cancelled", ids },
      { kind: "cancelled", ids: ["id1"] },
    ] satisfies ReadonlyArray<Hint>)
      gathered.add(hint)
    const hints = gathered.take()
    expect(hints.slice(0, 3)).toEqual([
      { kind: "runs", dueAt: 0 },
      { kind: "runs", dueAt: 9 },
      { kind: "schedules" },
    ])
    expect(hints.slice(3).flatMap((hint) => (hint.kind === "cancelled" ? hint.ids : []))).toEqual(ids)
    expect(gathered.isEmpty).toBe(true)
  })

  test("no payload is larger than a server takes", () => {
    const gathered = new Gathered()
    gathered.add({ kind: "schedules" })
    for (let at = 0; at < 10_000; at++) gathered.add({ kind: "runs", dueAt: 1_790_000_000_000 + at })
    gathered.add({
      kind: "cancelled",
      ids: Array.from({ length: 1000 }, (_, n) => String(n).padStart(36, "0")),
    })
    for (const payload of payloadsOf("origin", gathered.take())) expect(payload.length).toBeLessThan(8000)
  })

  test("the hints of others are read, one's own and what is none are not", () => {
    const hint: Hint = { kind: "cancelled", ids: ["a"] }
    const [payload] = payloadsOf("a", [hint]) as [string]
    expect(hintsOf("b", payload)).toEqual([hint])
    expect(hintsOf("a", payload)).toEqual([])
    for (const text of [
      "",
      "[]",
      "null",
      '{"hints":1}',
      '{"hints":[null,{"kind":"runs"},{"kind":"cancelled","ids":[1]}]}',
    ])
      expect(hintsOf("b", text)).toEqual([])
  })
})

describe.skipIf(missing !== null)(`notifiers of one schema${missing === null ? "" : ` (${missing})`}`, () => {
  const schema = schemaName()
  const open: Array<OpenNotifier> = []
  const notifier = (name: string, options = {}): OpenNotifier => {
    const opened = openNotifier({ url, schema, applicationName: `${schema} ${name}`, ...options })
    open.push(opened)
    return opened
  }
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close()
  })
  afterAll(dropSchemas)

  /** Says it again and again, as a hint may be lost, until somebody hears it. */
  const untilHeard = async (from: OpenNotifier, to: OpenNotifier, hint: Hint): Promise<void> => {
    const heard = new Set<string>()
    const stop = to.subscribe((other) => heard.add(JSON.stringify(other)))
    while (!heard.has(JSON.stringify(hint))) {
      from.publish(hint)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    stop()
  }

  test("each hears the other, and itself at once", async () => {
    const [a, b] = [notifier("a"), notifier("b")]
    await untilHeard(a, b, { kind: "runs", dueAt: 17 })
    await untilHeard(b, a, { kind: "schedules" })
    const own: Array<Hint> = []
    a.subscribe((hint) => own.push(hint))
    a.publish({ kind: "cancelled", ids: ["x"] })
    expect(own).toEqual([{ kind: "cancelled", ids: ["x"] }])
  })

  test("after its connection was ended by the server it hears again, and is told to look at everything", async () => {
    const [a, b] = [notifier("a"), notifier("b")]
    await untilHeard(a, b, { kind: "runs", dueAt: 1 })
    const told: Array<Hint> = []
    b.subscribe((hint) => told.push(hint))
    const connection = connect({ url, connectionsMax: 1 })
    const ended = await connection.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
      [`${schema} b hints`],
    )
    expect(ended).toHaveLength(1)
    await connection.close()
    await untilHeard(a, b, { kind: "runs", dueAt: 2 })
    expect(told).toContainEqual({ kind: "runs", dueAt: 0 })
    expect(told).toContainEqual({ kind: "schedules" })
  })

  test("without LISTEN, and without a server, hints stay in the process", async () => {
    for (const options of [{ prepare: false }, { url: "postgres://postgres@127.0.0.1:1/test" }]) {
      const alone = notifier("alone", options)
      const told: Array<Hint> = []
      alone.subscribe((hint) => told.push(hint))
      alone.publish({ kind: "schedules" })
      expect(told).toEqual([{ kind: "schedules" }])
      await alone.close()
    }
  })
})
