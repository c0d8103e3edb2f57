// Values that have broken programs before, and values that a schema takes.
import type { Choice } from "../../common/random.ts"

type Schema = Readonly<Record<string, any>>

/** Ids that requests share, so that some of them meet: UUIDv7s. */
export const ids: ReadonlyArray<string> = Array.from(
  { length: 24 },
  (_, place) => `01997f3e-8a00-7000-8000-${String(place).padStart(12, "0")}`,
)

/** Names, of jobs and queues that there are and that there are not. */
export const names: ReadonlyArray<string> = [
  "greet",
  "double",
  "broken",
  "echo",
  "pair",
  "daily",
  "mail",
  "default",
  "none",
]

const texts: ReadonlyArray<string> = [
  "",
  " ",
  "\0",
  "\u202e\u{1f980}e\u0301",
  "\ud800",
  "__proto__",
  "constructor",
  "toString",
  "' OR '1'='1",
  "'; DROP TABLE runs; --",
  '"; DELETE FROM run WHERE 1=1; /*',
  "%' ESCAPE '\\",
  "../../etc/passwd",
  "..%2f..%2f",
  "<script>alert(1)</script>",
  "\u001b[31mred",
  "\r\nset-cookie: a=b",
  "-1",
  "1e400",
  "NaN",
  "0x10",
  "99999999999999999999999999",
  "null",
  "true",
  "2026-02-30T25:61:61Z",
  "5 parsecs",
  "P1D",
  "-5m",
  "999999999999999999d",
  "* * * * *",
  "{{7*7}}",
  "\u0024{jndi:ldap://x}",
  "eyJhIjoxfQ==",
]

const numbers: ReadonlyArray<number> = [
  0,
  -0,
  -1,
  0.1,
  1e21,
  -1e21,
  1e308,
  5e-324,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  -(2 ** 53),
  2 ** 63,
  8.64e15,
  8.64e15 + 1,
]

/** A text of any kind. */
export const anyText = (choice: Choice): string => {
  if (choice.percent(8)) return "x".repeat(choice.of([127, 129, 513, 4_000, 70_000]))
  if (choice.percent(10)) return choice.of(["\u00e9", "\u{1f980}", "a.", "%", "'"]).repeat(choice.int(1, 300))
  return choice.percent(30) ? choice.of([...ids, ...names]) : choice.of(texts)
}

/** JSON of any kind, as a text: also such as no value of JavaScript is. */
export const anyJson = (choice: Choice, depth = 0): string => {
  switch (depth > 3 ? choice.int(0, 4) : choice.int(0, 8)) {
    case 0:
      return choice.of(["null", "true", "false"])
    case 1:
      return choice.of(["1e400", "-1e400", "99999999999999999999999", "-0", "1.0000000000000001"])
    case 2:
      return JSON.stringify(choice.of(numbers))
    case 3:
    case 4:
      return JSON.stringify(anyText(choice))
    case 5:
      return `[${choice.list(0, 4, () => anyJson(choice, depth + 1)).join(",")}]`
    case 6:
      return choice.of(["[", '{"a":']).repeat(choice.of([10, 999, 1_001, 20_000])) + "1"
    case 7: {
      const levels = choice.of([5, 900, 1_000, 1_002, 30_000])
      return "[".repeat(levels) + "]".repeat(levels)
    }
    default: {
      const key = (): string =>
        JSON.stringify(
          choice.percent(60) ? choice.of(["__proto__", "constructor", "a", "id"]) : anyText(choice),
        )
      return `{${choice.list(0, 4, () => `${key()}:${anyJson(choice, depth + 1)}`).join(",")}}`
    }
  }
}

/** A value that a schema takes, or nearly; `name` is that of the field. */
export const fitting = (choice: Choice, schema: Schema, name = "", depth = 0): unknown => {
  if (schema["const"] !== undefined) return schema["const"]
  if (schema["enum"] !== undefined) return choice.of(schema["enum"] as ReadonlyArray<unknown>)
  const either = (schema["anyOf"] ?? schema["oneOf"]) as ReadonlyArray<Schema> | undefined
  if (either !== undefined) return fitting(choice, choice.of(either), name, depth)
  const type = Array.isArray(schema["type"])
    ? choice.of(schema["type"] as ReadonlyArray<string>)
    : schema["type"]
  switch (type) {
    case "object": {
      const required = new Set((schema["required"] ?? []) as ReadonlyArray<string>)
      const fields = Object.entries((schema["properties"] ?? {}) as Record<string, Schema>)
      const taken = fields.filter(([key]) => required.has(key) || (depth < 6 && choice.percent(35)))
      return Object.fromEntries(taken.map(([key, each]) => [key, fitting(choice, each, key, depth + 1)]))
    }
    case "array": {
      const min = (schema["minItems"] ?? 0) as number
      return choice.list(min, Math.max(min, 3), () =>
        fitting(choice, (schema["items"] ?? {}) as Schema, name, depth + 1),
      )
    }
    case "integer":
    case "number": {
      const { minimum = 0, maximum = 2_000_000_000_000 } = schema as {
        readonly minimum?: number
        readonly maximum?: number
      }
      return choice.percent(70)
        ? choice.int(minimum, Math.min(maximum, minimum + 1_000))
        : choice.of([minimum, maximum])
    }
    case "boolean":
      return choice.percent(50)
    case "null":
      return null
    case "string":
      return textFor(choice, name)
    default:
      return choice.of<unknown>([{ name: "Ada" }, { n: 2 }, 1, "a", null, [1, { b: 2 }]])
  }
}

const textFor = (choice: Choice, name: string): string => {
  if (/at$|after|before|from|to$/i.test(name))
    return choice.of(["2027-03-01T09:00:00Z", "1790000000000", "tomorrow"])
  if (/delay|within|timeout|every|expires|rate|span/i.test(name))
    return choice.of(["5m", "1h30m", "30s", "1 s"])
  if (/cron|expression|when/i.test(name)) return choice.of(["*/5 * * * *", "0 9 * * 1-5", "61 * * * *"])
  if (/(^|run)ids?$/i.test(name)) return choice.of(ids)
  if (/url|address/i.test(name))
    return choice.of(["https://example.org/hook", "http://127.0.0.1/", "ftp://x"])
  return choice.percent(80) ? choice.of(names) : choice.of(ids)
}
