// Edits that do not undo each other's: an answer says by an `ETag` which version it is, and a request to change it may say
// by `If-Match` which version it means (RFC 9110). Tags here are strong: the same tag, the same answer.
import { createHash } from "node:crypto"
import { refuse } from "../problems.ts"

/** The tag of a version; `parts` are all that the version is known by. */
export const etagOf = (...parts: ReadonlyArray<string | number>): string =>
  `"${createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22)}"`

/**
 * Throws `changed` (412) if the request means another version than this one, which is `null` where there is nothing.
 * A request without `If-Match` means any, unless `needed`: then that is refused too. `*` means any that is there. Weak tags
 * never match.
 */
export const checkMatch = (
  headers: Headers,
  etag: string | null,
  { needed = false }: { readonly needed?: boolean } = {},
): void => {
  const given = headers.get("if-match")
  if (given === null) {
    if (needed) throw changed("Say by `If-Match` which version you mean: the `ETag` of what you read.")
    return
  }
  const tags = given.split(",").map((tag) => tag.trim())
  if (tags.length > tagsMax || tags.some((tag) => !/^(\*|(W\/)?"[!#-~]{0,255}")$/.test(tag)))
    throw refuse("badHeader", 'Give `If-Match` the `ETag` of what you read, such as "abc" with its quotes.')
  const isMeant = etag !== null && (tags.includes("*") || tags.includes(etag))
  if (!isMeant) throw changed("Read it again, make your change to that, and send it with its `ETag`.")
}

const tagsMax = 20

const changed = (next: string) =>
  refuse("changed", `It is not the version that the request is about. ${next}`)
