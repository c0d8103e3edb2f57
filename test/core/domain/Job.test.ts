// Jobs and what they need: names, layers, cycles that are named, and chains in the order in which they are stored.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { DependencyCycle, DuplicateName, InvalidInput, UnknownJob } from "../../../core/domain/Errors.ts"
import {
  chainOf,
  type Job,
  type JobBook,
  knownNames,
  parseJobs,
  parseName,
} from "../../../core/domain/Job.ts"
import { defaultRetryPolicy } from "../../../core/domain/RetryPolicy.ts"

const job = (name: string, ...needs: ReadonlyArray<string>): Job => ({
  name,
  queue: "default",
  priority: 0,
  retry: defaultRetryPolicy,
  timeoutMillis: null,
  needs,
})
const book = (...jobs: ReadonlyArray<Job>): JobBook => Result.getOrThrow(parseJobs(jobs))
const refused = (...jobs: ReadonlyArray<Job>): DuplicateName | UnknownJob | DependencyCycle => {
  const result = parseJobs(jobs)
  if (Result.isSuccess(result)) throw new Error("It was accepted")
  expect(result.failure.next).toMatch(/^[A-Z].*\.$/)
  return result.failure
}

const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Throws unless the path of a cycle error goes round by needs that are there. */
const checkCycle = (failure: unknown, jobs: ReadonlyArray<Job>): DependencyCycle => {
  if (!(failure instanceof DependencyCycle)) throw new Error(`Not a cycle: ${String(failure)}`)
  const { cycle } = failure
  expect(cycle.length).toBeGreaterThanOrEqual(2)
  expect(cycle[0]).toBe(cycle[cycle.length - 1])
  const needs = new Map(jobs.map(({ name, needs }) => [name, needs]))
  for (let place = 1; place < Math.min(cycle.length, 20); place++)
    expect(needs.get(cycle[place - 1] as string), cycle.join(" -> ")).toContain(cycle[place])
  expect(new Set(cycle.slice(1)).size, "no job twice").toBe(cycle.length - 1)
  expect(failure.field).toBe(`job "${cycle[0]}".needs`)
  expect(failure.reason).toContain(cycle.join(" -> "))
  return failure
}

/** One list of several: values of a kind stand on one line. */
const groups = (lists: ReadonlyArray<ReadonlyArray<unknown>>): ReadonlyArray<unknown> => lists.flat()

describe("Job > names", () => {
  for (const name of [
    "a",
    "mail.digest",
    "Grüße senden",
    "日本",
    "a b",
    "__proto__",
    "constructor",
    "x".repeat(128),
  ])
    test(`${JSON.stringify(name.slice(0, 20))} is a name`, () =>
      expect(Result.getOrThrow(parseName("job.name", name))).toBe(name))

  const wrong = groups([
    ["", " ", " a", "a ", "\ta", "a\n", "a\u0000b", "a\u001fb", "a\u007fb", "a\u0085b", "\u00a0a"],
    ["x".repeat(129), undefined, null, 5, Number.NaN, {}, ["a"], Symbol("a"), () => "a", new String("a")],
  ])
  for (const [index, name] of wrong.entries())
    test(`wrong name ${index} is refused with its field, a reason and what to do`, () => {
      const result = parseName("jobs[3].name", name)
      if (Result.isSuccess(result)) throw new Error("It was accepted")
      expect(result.failure).toBeInstanceOf(InvalidInput)
      expect(result.failure.field).toBe("jobs[3].name")
      expect(result.failure.reason).not.toBe("")
      expect(result.failure.next).toContain("1 to 128 characters")
    })
})

describe("Job > what is refused", () => {
  test("a name twice, with the place of the second", () => {
    const failure = refused(job("a"), job("b"), job("a"))
    expect(failure).toBeInstanceOf(DuplicateName)
    expect(failure).toMatchObject({ name: "a", field: "jobs[2].name" })
  })

  test("a need that is not defined, with the job that has it and the names there are", () => {
    const failure = refused(job("a"), job("b", "a", "c"))
    expect(failure).toBeInstanceOf(UnknownJob)
    expect(failure).toMatchObject({ job: "c", field: 'job "b".needs' })
    expect(failure.next).toContain("Known jobs: a, b.")
  })

  test("names of objects' own parts are names like others", () => {
    expect(refused(job("a", "constructor"))).toBeInstanceOf(UnknownJob)
    expect(book(job("a", "__proto__"), job("__proto__")).layers).toEqual([["__proto__"], ["a"]])
  })

  test("no more than ten names are told", () => {
    const names = new Map(Array.from({ length: 12 }, (_, index) => [`j${index}`, true]))
    expect(knownNames(names)).toBe("j0, j1, j2, j3, j4, j5, j6, j7, j8, j9 and 2 more")
    expect(knownNames(new Map())).toBe("none")
  })
})

describe("Job > cycles", () => {
  const ring = (length: number, prefix = "j"): Array<Job> =>
    Array.from({ length }, (_, index) => job(`${prefix}${index}`, `${prefix}${(index + 1) % length}`))

  test("a job that needs itself", () => {
    const jobs = [job("b"), job("a", "b", "a")]
    expect(checkCycle(refused(...jobs), jobs).cycle).toEqual(["a", "a"])
  })

  test("two that need each other", () => {
    const jobs = ring(2)
    expect(checkCycle(refused(...jobs), jobs).cycle).toHaveLength(3)
  })

  for (const length of [3, 10, 19, 20]) {
    test(`${length} jobs in a ring are all named`, () => {
      const jobs = ring(length)
      expect(checkCycle(refused(...jobs), jobs).cycle).toHaveLength(length + 1)
    })
  }

  test("of a ring of 20,000 at most 21 names are told", () => {
    const jobs = ring(20_000)
    expect(checkCycle(refused(...jobs), jobs).cycle).toHaveLength(21)
  })

  test("of two rings one is named, whole", () => {
    const jobs = [...ring(3, "a"), ...ring(4, "b")]
    const { cycle } = checkCycle(refused(...jobs), jobs)
    expect(new Set(cycle.map((name) => name[0])).size).toBe(1)
  })

  test("what only leads into a ring, or hangs behind it, is not named", () => {
    const jobs = [job("start", "j0"), ...ring(3), job("end"), { ...job("mid", "j1"), needs: ["end", "j2"] }]
    const { cycle } = checkCycle(refused(...jobs), jobs)
    expect(cycle.every((name) => /^j\d$/.test(name))).toBe(true)
  })

  test("a long way into a ring of two is no part of it", () => {
    const way = Array.from({ length: 1000 }, (_, index) => job(`w${index}`, `w${index + 1}`))
    const jobs = [...way, job("w1000", "j0"), ...ring(2)]
    expect(checkCycle(refused(...jobs), jobs).cycle).toHaveLength(3)
  })

  test("property: random graphs with one edge back are cycles that go round, without it they are none", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = seeded(seed)
      const size = 2 + Math.floor(random() * 30)
      const jobs = Array.from({ length: size }, (_, index) =>
        job(
          `j${index}`,
          ...Array.from({ length: index }, (_, need) => `j${need}`).filter(() => random() < 0.2),
        ),
      )
      const shuffled = [...jobs].sort(() => random() - 0.5)
      checkLayers(book(...shuffled))
      // From the first to one that needs it, directly or not.
      const upper = jobs.filter(({ name }) => name !== "j0" && chainOf(book(...jobs), name).includes("j0"))
      if (upper.length === 0) continue
      const last = upper[Math.floor(random() * upper.length)] as Job
      const cyclic = shuffled.map((each) => (each.name === "j0" ? job("j0", last.name) : each))
      checkCycle(refused(...cyclic), cyclic)
    }
  })
})

/** Throws unless every job is in one layer, right behind the last of its needs, in the order of definition. */
const checkLayers = ({ jobs, layers }: JobBook): void => {
  const layerOf = new Map(layers.flatMap((names, layer) => names.map((name) => [name, layer] as const)))
  expect(layers.flat()).toHaveLength(jobs.size)
  expect(layerOf.size).toBe(jobs.size)
  const order = new Map([...jobs.keys()].map((name, index) => [name, index]))
  for (const { name, needs } of jobs.values()) {
    const behind = needs.reduce((most, need) => Math.max(most, layerOf.get(need) as number), -1)
    if (layerOf.get(name) !== behind + 1) throw new Error(`"${name}" is in layer ${layerOf.get(name)}`)
  }
  for (const names of layers)
    for (let place = 1; place < names.length; place++)
      if ((order.get(names[place - 1] as string) ?? 0) >= (order.get(names[place] as string) ?? 0))
        throw new Error(`"${names[place]}" stands before "${names[place - 1]}" in the book`)
}

describe("Job > layers", () => {
  test("no jobs have no layers, and free ones are one layer in the order of definition", () => {
    expect(book().layers).toEqual([])
    expect(book(job("c"), job("a"), job("b")).layers).toEqual([["c", "a", "b"]])
  })

  test("each job stands right behind the last of its needs, whatever the order of definition", () => {
    const made = book(
      job("d", "b", "c"),
      job("c", "a"),
      job("b", "a"),
      job("a"),
      job("e", "a", "d"),
      job("f"),
    )
    expect(made.layers).toEqual([["a", "f"], ["c", "b"], ["d"], ["e"]])
    checkLayers(made)
  })

  test("a need that is written twice counts once", () => {
    const made = book(job("b", "a", "a"), job("a"), job("c", "b", "a", "b"))
    expect(made.layers).toEqual([["a"], ["b"], ["c"]])
  })

  test("the jobs of the book are found by name", () => {
    const a = job("a")
    expect(book(a).jobs.get("a")).toBe(a)
    expect(book(a).jobs.get("b")).toBeUndefined()
  })
})

// Recursion would overflow at these sizes, and what grows with the square takes minutes.
describe("Job > many", () => {
  const chain = (length: number, isForward: boolean): Array<Job> => {
    const jobs = Array.from({ length }, (_, index) =>
      index === 0 ? job("j0") : job(`j${index}`, `j${index - 1}`),
    )
    return isForward ? jobs : jobs.reverse()
  }

  for (const isForward of [true, false]) {
    test(`a chain of 20,000, defined ${isForward ? "needs first" : "needs last"}`, () => {
      const made = book(...chain(20_000, isForward))
      expect(made.layers).toHaveLength(20_000)
      checkLayers(made)
      const order = chainOf(made, "j19999")
      expect(order).toHaveLength(20_000)
      expect(order[0]).toBe("j0")
      expect(order[19_999]).toBe("j19999")
    })
  }

  test("a chain of 300,000, which a square would not let end", () => {
    const jobs = chain(300_000, false)
    expect(Result.getOrThrow(parseJobs(jobs)).layers).toHaveLength(300_000)
  })

  test("a fan of 20,000 that one job needs, and that need one job", () => {
    const fan = Array.from({ length: 20_000 }, (_, index) => job(`f${index}`, "first"))
    const made = book(job("last", ...fan.map(({ name }) => name)), ...fan, job("first"))
    expect(made.layers.map(({ length }) => length)).toEqual([1, 20_000, 1])
    checkLayers(made)
    expect(chainOf(made, "last")).toHaveLength(20_002)
    expect(chainOf(made, "f7")).toEqual(["first", "f7"])
  })

  test("140 layers of 140, each needing the whole layer before", () => {
    const name = (layer: number, place: number): string => `l${layer}.${place}`
    const jobs = Array.from({ length: 140 * 140 }, (_, index) => {
      const layer = Math.floor(index / 140)
      const needs = layer === 0 ? [] : Array.from({ length: 140 }, (_, place) => name(layer - 1, place))
      return job(name(layer, index % 140), ...needs)
    })
    expect(book(...jobs).layers.map(({ length }) => length)).toEqual(Array.from({ length: 140 }, () => 140))
  })

  test("a ring of 200,000 behind a way of 100,000 is found", () => {
    const jobs = Array.from({ length: 300_000 }, (_, index) =>
      job(`j${index}`, `j${index === 299_999 ? 100_000 : index + 1}`),
    )
    const result = parseJobs(jobs)
    if (Result.isSuccess(result)) throw new Error("It was accepted")
    checkCycle(result.failure, jobs)
  })
})

describe("Job > chainOf", () => {
  const made = book(
    job("d", "b", "c"),
    job("c", "a"),
    job("b", "a"),
    job("a"),
    job("other", "a"),
    job("lone"),
  )

  test("a job alone is its own chain", () => {
    expect(chainOf(made, "a")).toEqual(["a"])
    expect(chainOf(made, "lone")).toEqual(["lone"])
  })

  test("needs come first, the job itself last, and nobody else is there", () => {
    expect(chainOf(made, "d")).toEqual(["a", "c", "b", "d"])
    expect(chainOf(made, "b")).toEqual(["a", "b"])
    expect(chainOf(made, "other")).toEqual(["a", "other"])
  })

  test("property: every need of a chain stands before whoever needs it, once", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seeded(seed)
      const jobs = Array.from({ length: 1 + Math.floor(random() * 40) }, (_, index) =>
        job(
          `j${index}`,
          ...Array.from({ length: index }, (_, need) => `j${need}`).filter(() => random() < 0.15),
        ),
      ).sort(() => random() - 0.5)
      const made = book(...jobs)
      for (const { name } of jobs) {
        const order = chainOf(made, name)
        expect(order[order.length - 1]).toBe(name)
        const seen = new Set<string>()
        for (const member of order) {
          for (const need of made.jobs.get(member)?.needs ?? []) expect(seen.has(need)).toBe(true)
          seen.add(member)
        }
        expect(seen.size).toBe(order.length)
        // Whoever is there is needed by somebody who is, but for the job itself.
        const needed = new Set(order.flatMap((member) => made.jobs.get(member)?.needs ?? []))
        expect([...needed, name].sort()).toEqual([...seen].sort())
      }
    }
  })
})
