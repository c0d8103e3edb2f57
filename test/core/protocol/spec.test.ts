// What is published is what the code does: the schemas, the AsyncAPI document, the transcripts and the README.
import { readdirSync, readFileSync } from "node:fs"
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { generatedFiles } from "../../../apps/protocol/specFiles.ts"
import { closeCodes } from "../../../core/protocol/Close.ts"
import { decode } from "../../../core/protocol/Codec.ts"
import { Problem } from "../../../core/protocol/Field.ts"
import * as Limits from "../../../core/protocol/Limits.ts"
import { kinds, type Message, messageTypes } from "../../../core/protocol/Message.ts"
import { asyncApi, jsonSchema } from "../../../core/protocol/Spec.ts"
import { replay, type Transcript } from "../../../core/protocol/Transcript.ts"
import { capabilities, subprotocol } from "../../../core/protocol/Version.ts"
import { Choice } from "../../common/random.ts"
import { fits } from "./jsonSchema.ts"
import { mutated, samples } from "./samples.ts"

const folder = new URL("../../../core/protocol/", import.meta.url)
const readText = (path: string): string => readFileSync(new URL(path, folder), "utf8")

describe("spec > the published files are those of the code (else: npm run spec)", () => {
  const files = generatedFiles()
  test.each([...files])("%s", (path, text) => expect(readText(path)).toBe(text))
  test("and there are no others", () => {
    const found = ["spec", "transcripts"].flatMap((name) =>
      readdirSync(new URL(name, folder)).map((file) => `${name}/${file}`),
    )
    expect(found.sort()).toEqual([...files.keys()].sort())
  })
})

describe("spec > JSON Schema", () => {
  // What JSON Schema cannot say: that a text is JSON, its depth and its bytes.
  const beyond = /is no JSON text|nests deeper|bytes in UTF-8/

  test.each(samples.map(({ message }, place) => [message.type, place, message] as const))(
    "%s, sample %i: takes what the codec takes",
    (type, place, message) => {
      const choice = new Choice(place + 100)
      const schema = jsonSchema(type)
      const field = kinds[type].field
      expect(fits(schema, message)).toBe(true)
      let refused = 0
      for (let round = 0; round < 1_500; round++) {
        const value = mutated(choice, message)
        const got = field.read(value)
        if (!(got instanceof Problem)) expect(fits(schema, value), JSON.stringify(value)).toBe(true)
        else if (!beyond.test(got.reason)) {
          refused++
          expect(fits(schema, value), `${got.path}: ${got.reason} ${JSON.stringify(value)}`).toBe(false)
        }
      }
      expect(refused).toBeGreaterThan(10)
    },
  )

  test("every field has a sentence that says what it is", () => {
    const without: Array<string> = []
    const look = (schema: Readonly<Record<string, unknown>>, path: string): void => {
      for (const [name, each] of Object.entries((schema["properties"] ?? {}) as Record<string, any>)) {
        // What tells messages and kinds apart says itself what it is.
        if (each.description === undefined && each.const === undefined) without.push(`${path}.${name}`)
        look(each, `${path}.${name}`)
      }
      for (const each of (schema["anyOf"] ?? []) as ReadonlyArray<any>) look(each, path)
      if (schema["items"] !== undefined) look(schema["items"] as any, `${path}[]`)
    }
    for (const type of messageTypes) look(jsonSchema(type), type)
    expect(without).toEqual([])
  })
})

describe("spec > AsyncAPI", () => {
  test("every reference leads somewhere", () => {
    const document = asyncApi()
    const references: Array<string> = []
    JSON.stringify(document, (key, value: unknown) => {
      if (key === "$ref") references.push(value as string)
      return value
    })
    const names = new Set(readdirSync(new URL("spec", folder)))
    for (const reference of references) {
      if (!reference.startsWith("#/")) {
        expect(names, reference).toContain(reference.replace("./", ""))
        continue
      }
      const target = reference
        .slice(2)
        .split("/")
        .reduce<any>((at, part) => at?.[part], document)
      expect(target, reference).toBeDefined()
    }
    expect(references.length).toBeGreaterThan(3 * messageTypes.length)
  })
})

describe("spec > transcripts", () => {
  const names = readdirSync(new URL("transcripts", folder))
  const all = names.map((name) => JSON.parse(readText(`transcripts/${name}`)) as Transcript)

  test.each(all.map((transcript) => [transcript.name, transcript] as const))(
    "%s: both machines say it",
    (_, transcript) => {
      expect(JSON.parse(JSON.stringify(replay(transcript)))).toEqual(transcript)
    },
  )

  test.each(all.map((transcript) => [transcript.name, transcript] as const))(
    "%s: every frame is a message",
    (_, { lines }) => {
      for (const line of lines)
        if ("frame" in line)
          expect(Result.getOrThrow(decode(JSON.stringify(line.frame), line.from))).toEqual(line.frame)
    },
  )

  test("together they show every message, and every frame that a side may send", () => {
    const seen = new Set(
      all.flatMap(({ lines }) =>
        lines.flatMap((line) => ("frame" in line ? [`${line.from} ${line.frame.type}`] : [])),
      ),
    )
    const missing = messageTypes.flatMap((type) =>
      kinds[type].from.map((from) => `${from} ${type}`).filter((each) => !seen.has(each)),
    )
    expect(missing).toEqual([])
  })

  test("no outcome is stored twice, none is begun twice", () => {
    for (const { name, lines } of all) {
      const keys = lines.flatMap((line) =>
        "does" in line && line.does["kind"] === "begin"
          ? [JSON.stringify([(line.does["assign"] as any).run, (line.does["assign"] as any).token])]
          : [],
      )
      expect(new Set(keys).size, name).toBe(keys.length)
    }
  })
})

describe("spec > README", () => {
  const readme = readText("README.md")
  const examples = [...readme.matchAll(/```json\n([\s\S]*?)```/g)].map(
    ([, text]) => JSON.parse(text as string) as Message,
  )

  test("has an example of every message, each of them right", () => {
    expect(new Set(examples.map(({ type }) => type))).toEqual(new Set(messageTypes))
    for (const example of examples) {
      const from = kinds[example.type].from.find((side) =>
        Result.isSuccess(decode(JSON.stringify(example), side)),
      )
      expect(from, JSON.stringify(example)).toBeDefined()
      expect(Result.getOrThrow(decode(JSON.stringify(example), from ?? "server"))).toEqual(example)
    }
  })

  test("the example in the README of the house is right", () => {
    const house = readFileSync(new URL("../../../README.md", import.meta.url), "utf8")
    const [, block = ""] = /```json\n([\s\S]*?)```/.exec(house) ?? []
    const types = block
      .trim()
      .split("\n")
      .map((line) => {
        const message = JSON.parse(line) as Message
        const found = (["server", "worker"] as const).find((from) => Result.isSuccess(decode(line, from)))
        expect(found, line).toBeDefined()
        return message.type
      })
    expect(types).toEqual(["assign", "ack", "result", "ack"])
  })

  test("names every field of every message", () => {
    for (const type of messageTypes) {
      const from = readme.indexOf(`### ${type}`)
      expect(from, type).toBeGreaterThan(0)
      const section = readme.slice(
        from,
        readme.indexOf("\n### ", from + 5) < 0 ? undefined : readme.indexOf("\n### ", from + 5),
      )
      for (const field of Object.keys(jsonSchema(type)["properties"] as object))
        if (!["type", "id", "run", "attempt", "token"].includes(field))
          expect(section, `${type}.${field}`).toContain(`\`${field}\``)
    }
  })

  test("tells the close codes, limits, capabilities and names as they are", () => {
    for (const [code, { reconnect }] of closeCodes)
      if (code >= 1000) expect(readme).toMatch(new RegExp(`\\| ${code} \\|[^\\n]*\\| ${reconnect} \\|`))
    for (const name of capabilities) expect(readme).toContain(`\`${name}\``)
    expect(readme).toContain(subprotocol(1))
    const { frameBytesMax, payloadDepthMax, depthMax, textMax, slotsMax, messagesPerSecondMax } = Limits
    for (const limit of [frameBytesMax, payloadDepthMax, depthMax, textMax, slotsMax, messagesPerSecondMax])
      expect(readme).toContain(limit.toLocaleString("en-US"))
  })
})
