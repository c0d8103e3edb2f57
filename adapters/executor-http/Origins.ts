// The allow-list of where requests may go: scheme, host and port. A host may be `*.example.com` (what is below it) or
// `*` (all); another port than the scheme's own must be written.
import * as Result from "effect/Result"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { quote } from "../../core/domain/TimeSpan.ts"

/** One entry. */
export interface Origin {
  readonly scheme: string
  readonly port: string
  /** In lower case, as an address writes it; of a pattern what stands behind `*`, with its dot, empty for all. */
  readonly host: string
  readonly isPattern: boolean
}

/** Checks the list. */
export const parseOrigins = (
  field: string,
  origins: unknown,
): Result.Result<ReadonlyArray<Origin>, InvalidInput> =>
  Result.gen(function* () {
    if (!Array.isArray(origins)) return yield* refuse(field, origins)
    const parsed: Array<Origin> = []
    for (const [index, text] of origins.entries()) parsed.push(yield* parseOrigin(`${field}[${index}]`, text))
    return parsed
  })

const parseOrigin = (field: string, text: unknown): Result.Result<Origin, InvalidInput> => {
  const match =
    typeof text === "string" ? /^(https?):\/\/(\*\.|\*$|\*(?=:))?([^*/?#@\\\s]*)$/.exec(text) : null
  if (match === null) return refuse(field, text)
  const [, scheme = "", star, rest = ""] = match
  // A name in the place of the star, so that the rest is read as addresses are.
  const plain = `${scheme}://${star === undefined ? "" : star === "*" ? "x" : "x."}${rest}`
  const url = URL.canParse(plain) ? new URL(plain) : undefined
  if (url === undefined || url.hostname === "" || url.pathname !== "/") return refuse(field, text)
  const host = url.hostname
  const isPattern = star !== undefined
  if (star === "*." && !/^x\.[^.]/.test(host)) return refuse(field, text)
  return Result.succeed({
    scheme: url.protocol,
    port: url.port,
    host: !isPattern ? host : star === "*" ? "" : host.slice(1),
    isPattern,
  })
}

/** Whether the list has the place that this address names. */
export const isListed = (url: URL, origins: ReadonlyArray<Origin>): boolean =>
  origins.some(
    ({ scheme, port, host, isPattern }) =>
      url.protocol === scheme &&
      url.port === port &&
      (isPattern ? url.hostname.endsWith(host) && url.hostname.length > host.length : url.hostname === host),
  )

const refuse = (field: string, value: unknown): Result.Result<never, InvalidInput> =>
  Result.fail(
    new InvalidInput({
      field,
      // What stands before an "@" may be a password.
      reason: `${quote(typeof value === "string" ? value.replace(/\/\/.*@/s, "//...@") : value)} is no origin`,
      next: 'Give origins such as "https://api.example.com", "https://*.example.com" or "http://127.0.0.1:8080".',
    }),
  )
