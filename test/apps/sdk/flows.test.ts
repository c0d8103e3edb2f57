// Flows as people write them, on the real engine over a clock that moves only when told: what runs, in which order,
// what it reads, and how the whole ends.
import * as Schema from "effect/Schema"
import { afterEach, describe, expect, test } from "vitest"
import { type Config, flow, type FlowBuilder, job, NonRetryable } from "uhrwerk"
import { type TestEngine, testEngine } from "uhrwerk/testing"
import { RunFailed } from "../../../apps/sdk/mod.ts"

const started: Array<TestEngine> = []
const start = async (config: Config): Promise<TestEngine> => {
  const engine = await testEngine(config)
  started.push(engine)
  return engine
}
afterEach(async () => {
  for (const engine of started.splice(0)) await engine.stop({ grace: 0 })
})

/** The states of a flow run's steps, by their ids. */
const statesOf = async (engine: TestEngine, runId: string): Promise<Record<string, string>> =>
  Object.fromEntries(((await engine.flow(runId))?.steps ?? []).map(({ id, state }) => [id, state]))
const boom = (): never => {
  throw new NonRetryable("boom")
}
const once = { max: 1 }

describe("steps", () => {
  test("a diamond runs in the order of its needs, hands outputs on, and its output is that of the step that was returned", async () => {
    const order: Array<string> = []
    const diamond = flow("diamond", { input: Schema.Struct({ from: Schema.Number }) }, (f) => {
      const top = f.step("top", {
        run: async (_, { input }) => {
          order.push("top")
          return input.from
        },
      })
      const left = f.step("left", {
        needs: { top },
        run: async (needs, ctx) => {
          order.push("left")
          await ctx.sleep("10s")
          return needs.top + 1
        },
      })
      const right = f.step("right", {
        needs: { number: top },
        run: (_, { needs, states }) => {
          order.push(`right after ${states.number}`)
          return { twice: needs.number * 2 }
        },
      })
      return f.step("join", {
        needs: { left, right },
        run: ({ left: a, right: { twice } }) => {
          order.push("join")
          return { sum: a + twice }
        },
      })
    })
    const engine = await start({ jobs: [diamond] })
    const sent = await diamond.send({ from: 20 })
    await engine.advance("5s")
    expect(await statesOf(engine, sent.id)).toEqual({
      top: "succeeded",
      left: "released",
      right: "succeeded",
      join: "blocked",
    })
    await engine.advance("5s")
    expect(await sent.result()).toEqual({ sum: 61 })
    expect(order).toEqual(["top", "left", "right after succeeded", "join"])
    const runs = await engine.runs({ chainId: sent.id })
    expect(runs.map((run) => run.job).sort()).toEqual([
      "diamond/join",
      "diamond/left",
      "diamond/right",
      "diamond/top",
    ])
  })

  test("an input of its own lets a step run a function that knows of no flow", async () => {
    const store = ({ table, rows }: { table: string; rows: number }): string => `${table}: ${rows}`
    const reuse = flow("reuse", {}, (f) => {
      const rows = f.step("rows", { run: () => 3 })
      return f.step("store", {
        needs: { rows },
        input: (needs) => ({ table: "t", rows: needs.rows }),
        run: store,
      })
    })
    await start({ jobs: [reuse] })
    expect(await (await reuse.send()).result()).toBe("t: 3")
  })

  test("a step that fails is tried again by its own policy, and within its own time", async () => {
    const attempts: Array<string> = []
    const flaky = flow("flaky", {}, (f) => {
      const slow = f.step("slow", {
        timeout: "1s",
        retry: { max: 2, delay: "10s", jitter: "none" },
        run: async (_, ctx) => {
          attempts.push(`slow ${ctx.run.attempt}`)
          if (ctx.run.attempt === 1) await ctx.sleep("1m")
          return "done"
        },
      })
      return f.step("next", { needs: { slow }, run: (needs) => needs.slow })
    })
    const engine = await start({ jobs: [flaky] })
    const sent = await flaky.send()
    await engine.advance("5s")
    expect(await statesOf(engine, sent.id)).toEqual({ slow: "released", next: "blocked" })
    await engine.advance("10s")
    expect(await sent.result()).toBe("done")
    expect(attempts).toEqual(["slow 1", "slow 2"])
    expect((await engine.run(sent.id))?.attempt).toBe(1)
  })

  test("conditions, rules and an allowed failure", async () => {
    const seen: Record<string, unknown> = {}
    const mixed = flow("mixed", {}, (f) => {
      const ok = f.step("ok", { run: () => 1 })
      const bad = f.step("bad", { allowFailure: true, run: boom })
      const no = f.step("no", { needs: { ok }, when: async ({ ok: n }) => n > 1, run: () => "never" })
      f.step("behind", { needs: { no }, run: () => "never" })
      f.step("unless", {
        needs: { no, ok },
        rule: "none_failed",
        run: (needs, { states }) => {
          seen["unless"] = { ...needs, ...states }
        },
      })
      f.step("cleanup", {
        needs: { bad, ok },
        rule: "all_done",
        run: (needs, { states }) => {
          seen["cleanup"] = { needs, states }
        },
      })
      const upstream = f.step("upstream", { needs: { bad }, allowFailure: true, run: () => "never" })
      f.step("alarm", { needs: { upstream }, rule: "one_failed", run: () => (seen["alarm"] = true) })
    })
    const engine = await start({ jobs: [mixed] })
    const sent = await mixed.send()
    expect(await sent.result()).toBeUndefined()
    expect(await statesOf(engine, sent.id)).toEqual({
      ok: "succeeded",
      bad: "failed",
      no: "skipped",
      behind: "skipped",
      unless: "succeeded",
      cleanup: "succeeded",
      upstream: "upstream_failed",
      alarm: "succeeded",
    })
    expect(seen).toEqual({
      unless: { no: "skipped", ok: "succeeded" },
      cleanup: { needs: { bad: undefined, ok: 1 }, states: { bad: "failed", ok: "succeeded" } },
      alarm: true,
    })
    const no = (await engine.flow(sent.id))?.steps.find(({ id }) => id === "no")
    expect(no?.reason).toBe("Its condition does not hold")
  })

  test("a failed step makes the flow run dead, with the steps' names and a letter of its own", async () => {
    const broken = flow("broken", {}, (f) => {
      const a = f.step("a", { retry: once, run: boom })
      f.step("b", { needs: { a }, run: () => {} })
      f.step("c", { run: () => {} })
    })
    const engine = await start({ jobs: [broken] })
    const sent = await broken.send()
    await expect(sent.result()).rejects.toThrow(RunFailed)
    await expect(sent.result()).rejects.toThrow('2 of 3 steps failed: "a", "b"')
    expect((await engine.deadLetters()).map(({ runId }) => runId)).toEqual([sent.id])
    expect((await statesOf(engine, sent.id))["c"]).toBe("succeeded")
  })

  test("with failFast the others are called off, and a running one gets its signal at once", async () => {
    const heard: Array<unknown> = []
    const fast = flow("fast", { failFast: true }, (f) => {
      f.step("slow", {
        run: (_, { signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener("abort", () => {
              heard.push((signal.reason as { why: string }).why)
              reject(signal.reason)
            }),
          ),
      })
      f.step("bad", {
        retry: once,
        run: async (_, ctx) => {
          await ctx.sleep("5s")
          boom()
        },
      })
    })
    const engine = await start({ jobs: [fast] })
    const sent = await fast.send()
    await engine.advance("6s", { realMax: "100ms" })
    await expect(sent.result()).rejects.toThrow('"bad"')
    expect(heard).toEqual(["cancelled"])
    expect(await statesOf(engine, sent.id)).toEqual({ slow: "failed", bad: "failed" })
  })

  test("a condition that throws is an attempt that failed", async () => {
    let asked = 0
    const asking = flow("asking", {}, (f) =>
      f.step("a", {
        retry: { max: 2, delay: "1s", jitter: "none" },
        when: () => {
          if (++asked === 1) throw new Error("not there yet")
          return true
        },
        run: () => "ran",
      }),
    )
    const engine = await start({ jobs: [asking] })
    const sent = await asking.send()
    await engine.advance("1s")
    expect(await sent.result()).toBe("ran")
  })

  test("the run of a step says which attempt it is and whose chain, and speaks through its context", async () => {
    const logged: Array<string> = []
    const talks = flow("talks", {}, (f) =>
      f.step("a", {
        run: (_, ctx) => {
          ctx.log(`attempt ${ctx.run.attempt} of ${ctx.run.job}`)
          return ctx.run.id
        },
      }),
    )
    const engine = await start({ jobs: [talks] })
    engine.on((event) => {
      if (event.kind === "log") logged.push(event.line)
    })
    const sent = await talks.send()
    const id = await sent.result()
    expect(await engine.run(id)).toMatchObject({ parentId: sent.id, chainId: sent.id, step: 0 })
    expect(logged).toEqual(["attempt 1 of talks/a"])
  })
})

describe("inputs and outputs", () => {
  test("an input that does not fit is refused where it is sent", async () => {
    const strict = flow("strict", { input: Schema.Struct({ day: Schema.String }) }, (f) => {
      f.step("a", { run: () => {} })
    })
    await start({ jobs: [strict] })
    await expect(strict.send({ day: 5 } as never)).rejects.toThrow('input of flow "strict"')
  })

  test("an output with a schema is read as it says, on each edge and as the result", async () => {
    const dated = flow("dated", {}, (f) => {
      const at = f.step("at", { output: Schema.DateFromString, run: () => new Date("2026-01-01T00:00:00Z") })
      f.step("year", {
        needs: { at },
        run: (needs) => {
          expect(needs.at).toBeInstanceOf(Date)
          return needs.at.getUTCFullYear()
        },
      })
      return at
    })
    const engine = await start({ jobs: [dated] })
    const sent = await dated.send()
    expect(await sent.result()).toEqual(new Date("2026-01-01T00:00:00Z"))
    expect(await statesOf(engine, sent.id)).toEqual({ at: "succeeded", year: "succeeded" })
  })

  test("an output that does not fit its schema fails the step that made it, for good", async () => {
    const wrong = flow("wrong", {}, (f) => {
      f.step("made", { output: Schema.Struct({ n: Schema.Number }), run: () => ({ n: "1" }) as never })
    })
    const engine = await start({ jobs: [wrong] })
    const sent = await wrong.send()
    await expect(sent.result()).rejects.toThrow('"made"')
    const [run] = await engine.runs({ job: "wrong/made" })
    expect(run).toMatchObject({ attempt: 1, error: { name: "InvalidPayload", kind: "payload" } })
    expect(run?.error?.message).toContain('output of step "wrong/made"')
  })

  test("what does not fit at the other end of an edge fails its reader, and names the edge", async () => {
    const edge = flow("edge", {}, (f) => {
      const read = f.step("read", {
        output: Schema.Struct({ rows: Schema.Number }),
        run: async (_, ctx) => {
          await ctx.sleep("1h")
          return { rows: 1 }
        },
      })
      f.step("load", { needs: { given: read }, run: () => "never" })
    })
    const engine = await start({ jobs: [edge] })
    const sent = await edge.send()
    await engine.advance("1s")
    await engine.markStep(sent.id, "read", { as: "succeeded", reason: "by hand", output: { lines: 1 } })
    await expect(sent.result()).rejects.toThrow('1 of 2 steps failed: "load"')
    const [load] = await engine.runs({ job: "edge/load" })
    expect(load).toMatchObject({
      attempt: 1,
      state: "dead",
      error: { name: "InvalidPayload", kind: "payload" },
    })
    expect(load?.error?.message).toContain('edge "read" -> "load" of flow "edge"')
    expect(load?.error?.message).toContain("rows")
  })

  test("names of needs may be any, also those of an object's own parts", async () => {
    const odd = flow("odd", {}, (f) => {
      const a = f.step("__proto__", { run: () => "a" })
      return f.step("constructor", {
        needs: { ["__proto__"]: a, toString: a },
        run: (needs, { states }) => [Object.keys(needs).sort(), needs.toString, states.toString],
      })
    })
    await start({ jobs: [odd] })
    expect(await (await odd.send()).result()).toEqual([["__proto__", "toString"], "a", "succeeded"])
  })
})

describe("lists", () => {
  const squares = (max?: number, items = 4) =>
    flow("squares", {}, (f) => {
      const list = f.step("list", { run: () => Array.from({ length: items }, (_, index) => index) })
      const all = f.map("all", {
        needs: { list },
        over: (needs) => needs.list,
        ...(max === undefined ? {} : { max }),
        run: async (item, ctx) => {
          // The last is first.
          await ctx.sleep((items - item) * 1000)
          return { item, square: item * item, at: ctx.index }
        },
      })
      return f.step("sum", {
        needs: { all },
        run: (needs) => needs.all.reduce((sum, { square }) => sum + square, 0),
      })
    })

  test("each item is a run, and the outputs are one array in the order of the items", async () => {
    const squared = squares()
    const engine = await start({ jobs: [squared] })
    const sent = await squared.send()
    await engine.advance("2s")
    const list = (await engine.flow(sent.id))?.steps[1]
    expect((await engine.flow(list?.runId as string))?.steps.map(({ state }) => state)).toEqual([
      "released",
      "released",
      "succeeded",
      "succeeded",
    ])
    await engine.advance("2s")
    expect(await sent.result()).toBe(14)
    const [run] = await engine.runs({ job: "squares/all" })
    expect(JSON.parse(run?.output ?? "")).toEqual(
      [0, 1, 2, 3].map((item) => ({ item, square: item * item, at: item })),
    )
    expect(await engine.runs({ job: "squares/all[]" })).toHaveLength(4)
  })

  test("an empty list succeeds at once with an empty array", async () => {
    const none = squares(undefined, 0)
    await start({ jobs: [none] })
    expect(await (await none.send()).result()).toBe(0)
  })

  test("too many items are an error that says the limit, and is not tried again", async () => {
    const many = squares(3)
    const engine = await start({ jobs: [many] })
    await expect((await many.send()).result()).rejects.toThrow('"all"')
    const [run] = await engine.runs({ job: "squares/all" })
    expect(run).toMatchObject({
      state: "dead",
      attempt: 1,
      error: { name: "InvalidPayload", kind: "payload" },
    })
    expect(run?.error?.message).toBe(
      'step "squares/all".over: 4 items are more than 3. Raise `max`, to 1000 at most, or give each item more of the work.',
    )
  })

  test("without a limit of its own a list has at most a thousand items", async () => {
    const thousand = flow("thousand", {}, (f) => {
      const items = (count: number) => () => Array.from({ length: count }, (_, index) => index)
      f.map("fits", { over: items(1000), run: (item) => item })
      f.map("over", { over: items(1001), allowFailure: true, run: (item) => item })
    })
    const engine = await start({ jobs: [thousand] })
    const sent = await thousand.send()
    await engine.advance("1s")
    await sent.result()
    expect(await statesOf(engine, sent.id)).toEqual({ fits: "succeeded", over: "failed" })
  })

  test("what is no list, and items that cannot be kept, name the place", async () => {
    const odd = flow("odd", {}, (f) => {
      f.map("none", { over: () => ({}) as never, run: () => {} })
      f.map("big", { over: () => Array.from({ length: 20 }, () => "x".repeat(250_000)), run: () => {} })
      f.map("nan", { over: () => [1, Number.NaN], run: () => {} })
    })
    const engine = await start({ jobs: [odd] })
    await expect((await odd.send()).result()).rejects.toThrow("3 of 3 steps failed")
    const messages = (await engine.runs()).flatMap(({ error, parentId }) =>
      parentId && error ? [error.message] : [],
    )
    expect(messages.join("\n")).toContain('step "odd/none".over: an object is no list')
    expect(messages.join("\n")).toContain(
      'step "odd/big".over: 5000040 bytes are more than the 4194304 allowed',
    )
    expect(messages.join("\n")).toContain('step "odd/nan".over[1]')
  })

  test("an item has its own attempts, and one that fails for good fails the list, once the others have ended", async () => {
    const ran: Array<string> = []
    const items = flow("items", { input: Schema.String }, (f) => {
      f.map("all", {
        over: (_, input) => input.split(""),
        retry: { max: 2, delay: "1s", jitter: "none" },
        run: (item, ctx) => {
          ran.push(`${item}${ctx.run.attempt} of ${ctx.input}`)
          if (item === "b") throw new Error("no")
          return item
        },
      })
    })
    const engine = await start({ jobs: [items] })
    const sent = await items.send("abc")
    await engine.advance("10s")
    await expect(sent.result()).rejects.toThrow('"all"')
    expect(ran).toEqual(["a1 of abc", "b1 of abc", "c1 of abc", "b2 of abc"])
    expect((await engine.runs({ job: "items/all" }))[0]).toMatchObject({ attempt: 1, state: "dead" })
  })
})

describe("a flow as a step", () => {
  const inner = flow("inner", { input: Schema.Struct({ n: Schema.Number }) }, (f) => {
    const twice = f.step("twice", {
      output: Schema.Struct({ n: Schema.Number }),
      run: (_, { input }) => ({ n: input.n * 2 }),
    })
    return f.step("more", { needs: { twice }, run: (needs) => needs.twice.n + 1 })
  })

  test("gets the input that was made for it, and its output is the step's", async () => {
    const outer = flow("outer", {}, (f) => {
      const ten = f.step("ten", { run: () => 10 })
      const sub = f.flow("sub", inner, { needs: { ten }, input: (needs) => ({ n: needs.ten }) })
      return f.step("after", { needs: { sub }, run: (needs) => `got ${needs.sub}` })
    })
    const engine = await start({ jobs: [inner, outer] })
    const sent = await outer.send()
    expect(await sent.result()).toBe("got 21")
    const [sub] = await engine.runs({ job: "outer/sub" })
    expect(await statesOf(engine, sub?.id ?? "")).toEqual({ twice: "succeeded", more: "succeeded" })
    expect(await engine.runs({ chainId: sent.id })).toHaveLength(5)
    expect(await (await inner.send({ n: 1 })).result()).toBe(3)
  })

  test("an input that does not fit it fails the step, for good", async () => {
    const wrong = flow("wrong", {}, (f) => {
      f.flow("sub", inner, { input: () => ({ n: "ten" }) as never })
    })
    const engine = await start({ jobs: [inner, wrong] })
    await expect((await wrong.send()).result()).rejects.toThrow('"sub"')
    expect((await engine.runs({ job: "wrong/sub" }))[0]).toMatchObject({ attempt: 1, state: "dead" })
  })

  test("three deep, with a list within, and a cancel that reaches the innermost item", async () => {
    const heard: Array<string> = []
    const waits = (f: FlowBuilder<void>): void => {
      f.map("list", {
        over: () => ["a", "b"],
        run: (item, { signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener("abort", () => {
              heard.push(item)
              reject(signal.reason)
            }),
          ),
      })
    }
    const third = flow("third", {}, (f) => waits(f))
    const second = flow("second", {}, (f) => void f.flow("third", third))
    const first = flow("first", {}, (f) => void f.flow("second", second))
    const engine = await start({ jobs: [first, second, third] })
    const sent = await first.send()
    await engine.advance("1s", { realMax: "50ms" })
    await engine.cancel(sent.id, "enough")
    await engine.advance("0s", { realMax: "50ms" })
    expect(heard).toEqual(["a", "b"])
    const states = (await engine.runs()).map((run) => [run.job, run.state])
    expect(states.every(([, state]) => state === "cancelled")).toBe(true)
    expect(states).toHaveLength(6)
    await expect(sent.result()).rejects.toThrow("enough")
    expect(engine.load().carried).toBe(0)
  })
})

describe("beside jobs", () => {
  test("a flow and a job share an engine, and a flow's steps its slots", async () => {
    let running = 0
    let most = 0
    const wide = flow("wide", {}, (f) => {
      for (let index = 0; index < 20; index++) {
        f.step(`s${index}`, {
          run: async (_, ctx) => {
            most = Math.max(most, ++running)
            await ctx.sleep("1s")
            running--
          },
        })
      }
    })
    const single = job("single", { run: () => "done" })
    const engine = await start({ jobs: [wide, single], worker: { concurrency: 3 } })
    const sent = await wide.send()
    const other = await single.send()
    await engine.advance("10s")
    await sent.result()
    expect(await other.result()).toBe("done")
    expect(most).toBe(3)
  })
})
