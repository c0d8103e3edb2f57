// Keeps secrets out of what is written down for people: logs, events, errors. Told by the name that stands before a value,
// as nothing else tells a secret from another text. A value whose name says nothing is not found: that is a help against
// accidents, and no leave to log secrets. Every pattern is bounded, so that no line makes it slow.

/** What stands in the place of a secret. */
export const redacted = "[redacted]"

const words =
  "passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|authorization|cookie|credential|private[_-]?key|access[_-]?key"
const secretName = new RegExp(words, "i")
const counted = /^-?\d{1,10}$/

/** Whether a value of this name is a secret. Of tokens, numbers are none: those count, or fence out. */
export const isSecret = (name: string, value?: unknown): boolean =>
  secretName.test(name) &&
  !(
    /token/i.test(name) &&
    (typeof value === "number" || (typeof value === "string" && counted.test(value))) &&
    !secretName.test(name.replaceAll(/token/gi, ""))
  )

// The end of a name, what stands between, and the value: quoted (also in JSON within JSON, or cut off), or up to the next
// mark. `Bearer` and its like belong to the value.
const said = new RegExp(
  `((?:${words})[\\w-]{0,32})(\\\\?["']?\\s{0,3}(?:=>|[:=])\\s{0,3})` +
    `("(?:[^"\\\\]|\\\\.)*(?:"|\\\\?$)|'[^']*(?:'|$)|\\\\"[^"]*"?|(?:(?:bearer|basic|digest)\\s{1,3})?[^\\s,;&"'})\\]]+)`,
  "gis",
)
// `scheme://user:password@host`; a password may have an @ of its own, and a slash ends the host.
const inAddress = /([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:/@]{0,128}):[^\s/]{1,256}@/gi
const bare = /\b(bearer|basic)\s{1,3}[\w.~+/=-]{16,}/gi
// Keys of our own.
const own = /\buhr_[a-z0-9]{1,16}_[\w-]{8,}/gi

/** The text with `[redacted]` for each secret that it says by name, in an address, or as a key of ours. */
export const redactText = (text: string): string =>
  text
    .replace(own, redacted)
    .replace(inAddress, `$1:${redacted}@`)
    .replace(said, (all: string, name: string, between: string, value: string) =>
      isSecret(name, value) ? `${name}${between}${quoted(value)}` : all,
    )
    .replace(bare, `$1 ${redacted}`)

const quoted = (value: string): string => {
  const mark = /^(?:\\"|["'])/.exec(value)?.[0] ?? ""
  return `${mark}${redacted}${mark}`
}

/** A copy of JSON in which secrets are `[redacted]`, by the names of fields, and within texts. */
export const redact = (value: unknown): unknown => {
  if (typeof value === "string") return redactText(value)
  if (Array.isArray(value)) return value.map(redact)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      each !== null && isSecret(name, each) ? redacted : redact(each),
    ]),
  )
}
