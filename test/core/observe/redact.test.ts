// Secrets by their names, in JSON and in texts.
import { describe, expect, test } from "vitest"
import { isSecret, redact, redactText } from "../../../core/observe/redact.ts"

describe("redact > texts", () => {
  const lines: ReadonlyArray<readonly [string, string]> = [
    ["password=hunter2 and more", "password=[redacted] and more"],
    ["PGPASSWORD: hunter2, next", "PGPASSWORD: [redacted], next"],
    ['{"apiKey":"a \\"b\\" c","n":1}', '{"apiKey":"[redacted]","n":1}'],
    ["{ clientSecret: 'a b' }", "{ clientSecret: '[redacted]' }"],
    ["Authorization: Bearer abc.def.ghi", "Authorization: [redacted]"],
    ["authorization=Basic dXNlcjpwYXNz; x", "authorization=[redacted]; x"],
    ["sent Bearer abcdefghijklmnopqrstuvwxyz to it", "sent Bearer [redacted] to it"],
    ["?access_token=abc&x=1", "?access_token=[redacted]&x=1"],
    ["postgres://me:p@ss@db:5432/x", "postgres://me:[redacted]@db:5432/x"],
    ["the key is uhr_worker_abc_0123456789abcdef", "the key is [redacted]"],
    ['it was \\"token\\":\\"abc\\",', 'it was \\"token\\":\\"[redacted]\\",'],
    ['cut off: "secret":"abc d', 'cut off: "secret":"[redacted]"'],
    ["used 512 tokens: 300, 212", "used 512 tokens: 300, 212"],
    ["12 rows of 30, all is well", "12 rows of 30, all is well"],
    ["https://example.org:8080/a@b", "https://example.org:8080/a@b"],
  ]
  test.each(lines)("%s", (line, expected) => expect(redactText(line)).toBe(expected))

  test("no line of any shape takes long, and none of its secret is left", () => {
    for (const part of ["password", "password=", 'token="\\', "a", "://a:", "bearer ", 'token=\\"', "= :"]) {
      const line = part.repeat(Math.ceil(20_000 / part.length))
      expect(redactText(line).length).toBeLessThan(200_000)
    }
  })
})

test("redact > JSON: by the names of fields at any depth, and within texts", () => {
  const value = JSON.parse(
    '{"user":"ada","password":1234,"deep":[{"API_KEY":{"a":1},"x":"token=abc"}],"token":7,"maxTokens":512,"secret":null,"__proto__":{"cookie":"c"}}',
  ) as unknown
  expect(JSON.stringify(redact(value))).toBe(
    '{"user":"ada","password":"[redacted]","deep":[{"API_KEY":"[redacted]","x":"token=[redacted]"}],"token":7,"maxTokens":512,"secret":null,"__proto__":{"cookie":"[redacted]"}}',
  )
})

test("redact > names", () => {
  for (const name of ["password", "DB_PASSWORD", "set-cookie", "clientSecret", "x-api-key", "refreshToken"])
    expect(isSecret(name, "text")).toBe(true)
  for (const name of ["user", "keys", "author", "pass"]) expect(isSecret(name, "text")).toBe(false)
  expect([isSecret("token", 3), isSecret("secretToken", 3)]).toEqual([false, true])
})
