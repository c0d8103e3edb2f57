// The signature of Standard Webhooks (standardwebhooks.com): HMAC-SHA256 over id, time and body, so that whoever
// receives a request knows that it is ours, is not changed and is not old. With several secrets there is a signature of
// each, so that a secret can be replaced while both ends still know the old one.
import { createHmac } from "node:crypto"
import * as Result from "effect/Result"
import { InvalidInput } from "../../core/domain/Errors.ts"

/** Secrets, decoded; the newest first. */
export type Secrets = ReadonlyArray<Uint8Array>

const bytesMin = 24
const bytesMax = 64
const secretsMax = 5

/**
 * Secrets as people write them: `whsec_` and 24 to 64 random bytes in base64, or a list of at most five. No error
 * quotes one.
 */
export const parseSecrets = (field: string, given: unknown): Result.Result<Secrets, InvalidInput> => {
  const list = Array.isArray(given) ? given : [given]
  const next = 'Give "whsec_" and 24 to 64 random bytes in base64: `openssl rand -base64 32` makes them.'
  const refuse = (reason: string) => Result.fail(new InvalidInput({ field, reason, next }))
  if (list.length === 0 || list.length > secretsMax)
    return refuse(`${list.length} secrets are not from 1 to ${secretsMax}`)
  const secrets: Array<Uint8Array> = []
  for (const [index, text] of list.entries()) {
    const which = list.length === 1 ? "it" : `secret ${index + 1} of ${list.length}`
    const match = typeof text === "string" ? /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) : null
    if (match === null) return refuse(`${which} is no secret`)
    const bytes = Buffer.from(match[1] as string, "base64")
    if (bytes.length < bytesMin || bytes.length > bytesMax)
      return refuse(`${which} has ${bytes.length} bytes, not from ${bytesMin} to ${bytesMax}`)
    secrets.push(bytes)
  }
  return Result.succeed(secrets)
}

/** The three headers of a signed request; `id` is that of the run, equal for all its attempts. */
export const signatureHeaders = (
  secrets: Secrets,
  id: string,
  nowMillis: number,
  body: string,
): Record<string, string> => {
  const seconds = String(Math.floor(nowMillis / 1000))
  const signed = `${id}.${seconds}.${body}`
  const sign = (secret: Uint8Array): string =>
    `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`
  return {
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": secrets.map(sign).join(" "),
  }
}
