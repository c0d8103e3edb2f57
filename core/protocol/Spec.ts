// The published forms of the protocol, made of the schemas of Message.ts: JSON Schema 2020-12 for each message, and
// an AsyncAPI 3.1 document around them. `npm run spec` writes them to `spec/`, and a test finds any drift.
import * as Schema from "effect/Schema"
import { closeCodes } from "./Close.ts"
import { kinds, type MessageType, messageTypes, type Side } from "./Message.ts"
import { currentVersion, subprotocol } from "./Version.ts"

type Json = Readonly<Record<string, unknown>>

/** The JSON Schema of a message, complete by itself. */
export const jsonSchema = (type: MessageType): Json => {
  const { field, description } = kinds[type]
  const document = Schema.toJsonSchemaDocument(field.schema as Schema.Codec<unknown>)
  const { description: _, ...schema } = tidied(document.schema) as Json
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `urn:uhrwerk:worker:v${currentVersion}:${type}`,
    title: type,
    description,
    ...schema,
    ...(Object.keys(document.definitions).length === 0 ? {} : { $defs: document.definitions }),
  }
}

const noise: Json = { minLength: 0, minProperties: 0, additionalProperties: true }

/** The same schema without nesting that says nothing: readers and generators of code get one level for each field. */
const tidied = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(tidied)
  if (typeof value !== "object" || value === null) return value
  const out: Record<string, unknown> = {}
  for (const [key, each] of Object.entries(value)) {
    const inner = tidied(each)
    // Parts of an `allOf`, and the only one of an `anyOf`, are said by the schema itself.
    if (key === "allOf" || (key === "anyOf" && (inner as ReadonlyArray<unknown>).length === 1))
      for (const part of inner as ReadonlyArray<Json>) Object.assign(out, part)
    else if (key === "anyOf" && (inner as ReadonlyArray<Json>).every(({ const: only }) => only !== undefined))
      Object.assign(out, {
        type: "string",
        enum: (inner as ReadonlyArray<Json>).map((part) => part["const"]),
      })
    else if (key === "enum" && (inner as ReadonlyArray<unknown>).length === 1)
      out["const"] = (inner as ReadonlyArray<unknown>)[0]
    else if (noise[key] !== inner) out[key] = inner
  }
  return out
}

/** The file of a message's schema. */
export const schemaFile = (type: MessageType): string => `${type}.schema.json`

const sentBy = (side: Side): ReadonlyArray<MessageType> =>
  messageTypes.filter((type) => kinds[type].from.includes(side))

const references = (types: ReadonlyArray<MessageType>): ReadonlyArray<Json> =>
  types.map((type) => ({ $ref: `#/channels/worker/messages/${type}` }))

/** The AsyncAPI document, from the server's side: it receives what workers send. */
export const asyncApi = (): Json => ({
  asyncapi: "3.1.0",
  info: {
    title: "Uhrwerk worker protocol",
    version: `${currentVersion}.0.0`,
    description:
      "How workers in any language take runs from an Uhrwerk server: one JSON object in each text frame of a WebSocket. README.md in the folder above this file says what the messages mean.",
    license: { name: "MIT" },
  },
  defaultContentType: "application/json",
  servers: {
    local: { host: "127.0.0.1:8080", protocol: "ws", description: "A server as it listens by default." },
  },
  channels: {
    worker: {
      address: "/v1/worker",
      title: "One worker",
      description: `The WebSocket subprotocol is ${subprotocol(currentVersion)}.`,
      messages: Object.fromEntries(
        messageTypes.map((type) => [type, { $ref: `#/components/messages/${type}` }]),
      ),
      bindings: {
        ws: {
          method: "GET",
          headers: {
            type: "object",
            properties: {
              Authorization: { type: "string", description: "Bearer and the worker's token; or in hello." },
              "Sec-WebSocket-Protocol": { const: subprotocol(currentVersion) },
            },
            required: ["Sec-WebSocket-Protocol"],
          },
          bindingVersion: "0.1.0",
        },
      },
      "x-close-codes": Object.fromEntries(
        [...closeCodes].map(([code, { name, meaning, reconnect }]) => [code, { name, meaning, reconnect }]),
      ),
    },
  },
  operations: {
    receiveFromWorker: {
      action: "receive",
      channel: { $ref: "#/channels/worker" },
      messages: references(sentBy("worker")),
    },
    sendToWorker: {
      action: "send",
      channel: { $ref: "#/channels/worker" },
      messages: references(sentBy("server")),
    },
  },
  components: {
    messages: Object.fromEntries(
      messageTypes.map((type) => [
        type,
        {
          name: type,
          title: type,
          summary: kinds[type].description,
          contentType: "application/json",
          payload: {
            schemaFormat: "application/schema+json;version=draft-2020-12",
            schema: { $ref: `./${schemaFile(type)}` },
          },
        },
      ]),
    ),
  },
})

/** All published files by name, as text. */
export const specFiles = (): ReadonlyMap<string, string> =>
  new Map(
    [
      ...messageTypes.map((type) => [schemaFile(type), jsonSchema(type)] as const),
      ["asyncapi.json", asyncApi()] as const,
    ].map(([name, value]) => [name, `${JSON.stringify(value, null, 2)}\n`]),
  )
