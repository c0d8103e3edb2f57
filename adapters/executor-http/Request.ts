// What a job that is an HTTP request says, and the checks of it. Errors name the origin of an address and no more: its
// path may be a secret, and so may a header's value.
import * as Result from "effect/Result"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { type OutputKind, outputKinds } from "../../core/domain/OutputKind.ts"
import { payloadBytesMax } from "../../core/domain/Payload.ts"
import { parseSpan, quote, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import { parseNetwork, type Network } from "./Addresses.ts"
import { isListed, type Origin, parseOrigins } from "./Origins.ts"
import { parseSecrets, type Secrets } from "./signature.ts"

/** Where it goes; of a function of the input, what that answers. It must be on the list of origins either way. */
export type Address = string | ((input: any) => string)

/** How a request is made. */
export interface RequestOptions {
  /** Default `POST`. `GET` and `DELETE` have no body. */
  readonly method?: Method
  /** Beside ours. Their values are in no error and no log. */
  readonly headers?: Readonly<Record<string, string>>
  /** Signs it with the secrets of this name in `executors.request.secrets`, as Standard Webhooks says. */
  readonly sign?: string
  /** What its output is. `none` (default): there is none. `json`, `text`: the body of the answer. */
  readonly output?: OutputKind
  /** The most of an answer that is read, in bytes; 1 to 262,144, default 262,144. More is a failure without retry. */
  readonly answerMax?: number
  /** From the look-up of the name to the last byte of the answer; `"10ms"` to `"1h"`, default `"30s"`. */
  readonly timeout?: TimeSpan
  /** The most that a `Retry-After` may ask for; longer ones are cut to it. Default `"1h"`. */
  readonly retryAfterMax?: TimeSpan
}

/** What may be asked with. */
export type Method = (typeof methods)[number]

const methods = ["POST", "PUT", "PATCH", "DELETE", "GET"] as const

/** A request, checked. */
export interface Request {
  readonly url: Address
  readonly method: Method
  readonly headers: Readonly<Record<string, string>>
  readonly secrets: Secrets | null
  readonly output: OutputKind
  readonly answerMax: number
  readonly timeoutMillis: number
  readonly retryAfterMaxMillis: number
}

/** What requests may do, as it is written in the config. */
export interface RequestRules {
  /** Where requests may go: `"https://api.example.com"`, `"https://*.example.com"`, `"http://127.0.0.1:8080"`. */
  readonly origins?: ReadonlyArray<string>
  /** Networks that are not public and may be connected to all the same, such as `"10.1.0.0/16"`. Default: none. */
  readonly networks?: ReadonlyArray<string>
  /** Secrets to sign with, by a name: `"whsec_..."`, or a list of them, the newest first. */
  readonly secrets?: Readonly<Record<string, string | ReadonlyArray<string>>>
  /** Certificates (PEM) of authorities to trust in the place of the runtime's. */
  readonly ca?: string | ReadonlyArray<string>
}

/** The same, checked. */
export interface CheckedRules {
  readonly origins: ReadonlyArray<Origin>
  readonly networks: ReadonlyArray<Network>
  readonly secrets: ReadonlyMap<string, Secrets>
  readonly ca: ReadonlyArray<string> | undefined
}

/** Checks the rules; `field` is where they stand. */
export const checkRules = (field: string, rules: unknown = {}): Result.Result<CheckedRules, InvalidInput> =>
  Result.gen(function* () {
    if (typeof rules !== "object" || rules === null)
      return yield* refuse(field, rules, "an object such as `{ origins: [...] }`")
    const { origins = [], networks = [], secrets = {}, ca } = rules as RequestRules
    if (!Array.isArray(networks)) return yield* refuse(`${field}.networks`, networks, "a list of networks")
    const allowed: Array<Network> = []
    for (const [index, text] of networks.entries())
      allowed.push(yield* parseNetwork(`${field}.networks[${index}]`, text))
    // Never quoted, whatever it is.
    if (typeof secrets !== "object" || secrets === null || Array.isArray(secrets))
      return yield* fail(`${field}.secrets`, "it is no object of secrets", "Give them names.")
    const named = new Map<string, Secrets>()
    for (const [name, value] of Object.entries(secrets))
      named.set(name, yield* parseSecrets(`${field}.secrets.${name}`, value))
    const certificates: unknown = ca === undefined || Array.isArray(ca) ? ca : [ca]
    const isPem = (each: unknown): boolean => typeof each === "string" && each.includes("BEGIN CERTIFICATE")
    if (certificates !== undefined && !(certificates as ReadonlyArray<unknown>).every(isPem))
      return yield* fail(`${field}.ca`, "it is no certificate as PEM", "Give the text of a PEM file.")
    return {
      origins: yield* parseOrigins(`${field}.origins`, origins),
      networks: allowed,
      secrets: named,
      ca: certificates as ReadonlyArray<string> | undefined,
    }
  })

/** Checks a request; `place` begins the fields of its errors. */
export const checkRequest = (
  place: string,
  url: unknown,
  options: RequestOptions,
  rules: CheckedRules,
): Result.Result<Request, InvalidInput> =>
  Result.gen(function* () {
    if (typeof url !== "function") yield* checkAddress(`${place}.url`, url, rules.origins)
    if (typeof options !== "object" || options === null)
      return yield* refuse(`${place}.options`, options, "an object of options")
    const { method = "POST", headers = {}, sign, output = "none", answerMax = payloadBytesMax } = options
    if (!methods.includes(method))
      return yield* refuse(`${place}.method`, method, `one of ${methods.join(", ")}`)
    const secrets = sign === undefined ? null : rules.secrets.get(sign)
    if (secrets === undefined)
      return yield* fail(
        `${place}.sign`,
        `${quote(sign)} is not the name of secrets`,
        "Add them to the config's `executors.request.secrets`.",
      )
    if (!outputKinds.includes(output))
      return yield* refuse(`${place}.output`, output, '"none", "json" or "text"')
    if (!Number.isInteger(answerMax) || answerMax < 1 || answerMax > payloadBytesMax)
      return yield* refuse(`${place}.answerMax`, answerMax, `a whole number from 1 to ${payloadBytesMax}`)
    const timeoutMillis = yield* parseSpan(`${place}.timeout`, options.timeout ?? "30s", 10)
    if (timeoutMillis > 3_600_000)
      return yield* refuse(`${place}.timeout`, options.timeout, 'a span from "10ms" to "1h"')
    return {
      url: url as Address,
      method,
      headers: yield* checkHeaders(`${place}.headers`, headers),
      secrets,
      output,
      answerMax,
      timeoutMillis,
      retryAfterMaxMillis: yield* parseSpan(`${place}.retryAfterMax`, options.retryAfterMax ?? "1h"),
    }
  })

/** Checks an address, also one that a function made of an input. */
export const checkAddress = (
  field: string,
  url: unknown,
  origins: ReadonlyArray<Origin>,
): Result.Result<URL, InvalidInput> => {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    return fail(
      field,
      "it is not the address of a web server",
      "Give one such as `https://api.example.com/report`.",
    )
  if (parsed.username !== "" || parsed.password !== "")
    return fail(field, "it has a user or a password in it", "Give them in a header.")
  if (isListed(parsed, origins)) return Result.succeed(parsed)
  return fail(
    field,
    `requests to ${quote(parsed.origin)} are not allowed`,
    "Add it to the config's `executors.request.origins`, if they may go there.",
  )
}

// What we say ourselves, and what would make another request of it.
const ownHeaders =
  /^(host|content-length|transfer-encoding|connection|upgrade|te|trailer|expect|accept-encoding|proxy-.*|idempotency-key|webhook-.*|uhrwerk-.*)$/

const checkHeaders = (
  field: string,
  headers: unknown,
): Result.Result<Readonly<Record<string, string>>, InvalidInput> => {
  if (typeof headers !== "object" || headers === null || Array.isArray(headers))
    return refuse(field, headers, "an object of texts")
  const checked: Array<[string, string]> = []
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)) return refuse(field, name, "the name of a header")
    if (ownHeaders.test(lower)) return fail(`${field}.${name}`, "it is one of ours", "Leave it out.")
    if (typeof value !== "string" || !/^[\t\x20-\x7e]*$/.test(value) || value.length > 8192)
      return fail(`${field}.${name}`, "its value is no line of ASCII", "Give a text without line breaks.")
    checked.push([lower, value])
  }
  return Result.succeed(Object.fromEntries(checked))
}

const refuse = (field: string, value: unknown, wanted: string): Result.Result<never, InvalidInput> =>
  fail(field, `${quote(value)} is not ${wanted}`, `Give ${wanted}.`)

const fail = (field: string, reason: string, next: string): Result.Result<never, InvalidInput> =>
  Result.fail(new InvalidInput({ field, reason, next }))
