// A project for servers under test, and what sends requests to one.
import * as Schema from "effect/Schema"
import { type Config, flow, job } from "../../../apps/sdk/mod.ts"

export const greet = job<{ name: string }, string>("greet", { run: ({ name }) => `hello ${name}` })
export const double = job("double", {
  input: Schema.Struct({ n: Schema.Number }),
  run: ({ n }) => n * 2,
})
export const broken = job("broken", {
  retry: { max: 1 },
  run: () => {
    throw new Error("<script>alert(1)</script>")
  },
})
export const echo = job<unknown, unknown>("echo", { queue: "mail", run: (input) => input })
export const pair = flow("pair", {}, (f) => {
  const one = f.step("one", { run: () => 1 })
  f.step("two", { needs: { one }, run: ({ one }) => one + 1 })
})

/** Its config, over a store in memory. */
export const config: Config = {
  jobs: [greet, double, broken, echo, pair],
  storage: "memory:",
  poll: "50ms",
  grace: "1s",
}

/** A problem, or a run: whatever was answered. */
export type Answer = Readonly<Record<string, any>>

/** What `work` answers, as soon as `is` says so, within 10 s. */
export const until = async <A>(
  what: string,
  work: () => A | Promise<A>,
  is: (answer: A) => boolean,
  millisMax = 10_000,
): Promise<A> => {
  const end = performance.now() + millisMax
  for (;;) {
    const answer = await work()
    if (is(answer)) return answer
    if (performance.now() > end) throw new Error(`${what}: not within ${millisMax} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
