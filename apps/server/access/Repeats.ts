// Requests that may be sent again: with an `Idempotency-Key` a request is carried out once, and whoever sends it again
// within a day gets the first answer. Who comes while it is carried out is told to wait; if the server dies meanwhile, the
// key is free again after a minute. Answers 5xx are not kept: nothing is known of them.
import { createHash, randomUUID } from "node:crypto"
import { promisify } from "node:util"
import { gunzip, gzip } from "node:zlib"
import type { RecordRow } from "../../../core/ports/StoreDriver.ts"
import type { AskedStore } from "../api/ApiParts.ts"
import { type Problem, problemOf, Refused, refuse } from "../problems.ts"

/** An answer as it goes out, and as it is kept. */
export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** `null`: there is none. One that comes bit by bit is not kept: the same request is carried out again. */
  readonly body: string | ReadableStream<Uint8Array> | null
}

/** What a request comes to. */
export interface Carried {
  readonly answered: Answered
  /** What is kept in place of its body; `undefined`: the body. */
  readonly kept?: string
}

/** A request that may be repeated. */
export interface Repeatable {
  /** Whose: keys of others are other keys. */
  readonly caller: string
  readonly key: string
  /** The route, the address and the body: all that the same request has in common with its repetition. */
  readonly parts: ReadonlyArray<string | Uint8Array>
}

/** Carries out requests once. */
export interface Repeats {
  /** What the first one came to, and whether this was not the first. Rejects as `carryOut` does, or with `Refused`. */
  readonly once: (
    request: Repeatable,
    carryOut: () => Promise<Carried>,
  ) => Promise<{ readonly answered: Answered; readonly replayed: boolean }>
}

/** What it takes. */
export interface RepeatsParts {
  readonly store: Pick<AskedStore, "putRecords" | "records">
  /** Epoch milliseconds, by the store's clock. */
  readonly now: () => number
  readonly onFault: (doing: string, error: unknown) => void
}

/** How long a request may be carried out before its key is free again, as if the server had died: a minute. */
export const leaseMillis = 60_000
/** How long an answer is kept: a day. */
export const keptMillis = 24 * 3_600_000

const kind = "idempotency"
// Of a body as it is kept; a record has room for 256 KiB.
const textMax = 240_000
const plainMax = 8_192

interface Kept {
  /** Of one try, so that it knows its own record. */
  readonly by: string
  readonly fingerprint: string
  readonly done?:
    | { readonly status: number; readonly headers: Answered["headers"]; readonly body: KeptBody }
    | { readonly problem: Problem }
}
type KeptBody = { readonly text: string } | { readonly zipped: string } | "none" | "tooLarge"

/** Over the records of a store. */
export const makeRepeats = ({ store, now, onFault }: RepeatsParts): Repeats => {
  const read = async (id: string): Promise<RecordRow | undefined> =>
    (await store.records({ kind, prefix: id, order: "ascending", limit: 1 }))[0]

  /** The version of one's own record, or what somebody else's says. */
  const begin = async (id: string, own: Kept): Promise<number | Kept> => {
    for (let attempt = 0; attempt < beginsMax; attempt++) {
      const record = { kind, id, body: JSON.stringify(own), expiresAt: now() + leaseMillis, expected: 0 }
      const [version = 0] = await store.putRecords([record])
      if (version > 0) return version
      const row = await read(id)
      // Its lease has ended in between.
      if (row === undefined) continue
      const kept = JSON.parse(row.body) as Kept
      // The store tried again after an answer that was lost.
      return kept.by === own.by ? row.version : kept
    }
    throw busy()
  }

  /** What cannot be kept is told, and changes no answer. */
  const told = async (doing: string, work: Promise<unknown>): Promise<void> => {
    await work.catch((error: unknown) => onFault(`${doing} of a request with an Idempotency-Key`, error))
  }
  // Who took longer than the lease may have been followed by another, whose record has another version and is not touched.
  const end = (id: string, own: Kept, version: number, done: NonNullable<Kept["done"]>): Promise<void> => {
    const body = JSON.stringify({ ...own, done } satisfies Kept)
    const record = { kind, id, body, expiresAt: now() + keptMillis, expected: version }
    return told("keep the answer", store.putRecords([record]))
  }
  const forget = (id: string, version: number): Promise<void> => {
    const record = { kind, id, body: "{}", expiresAt: 1, expected: version }
    return told("forget the try", store.putRecords([record]))
  }

  return {
    once: async ({ caller, key, parts }, carryOut) => {
      const id = digest([caller, key])
      const own: Kept = { by: randomUUID(), fingerprint: digest(parts) }
      const begun = await begin(id, own)
      if (typeof begun !== "number") return { answered: await repeated(begun, own), replayed: true }
      try {
        const { answered, kept } = await carryOut()
        const { status, headers, body } = answered
        if (body instanceof ReadableStream) await forget(id, begun)
        else await end(id, own, begun, { status, headers, body: await packed(kept ?? body) })
        return { answered, replayed: false }
      } catch (error) {
        const problem = problemOf(error)
        if (problem === undefined || problem.status >= 500) await forget(id, begun)
        else await end(id, own, begun, { problem })
        throw error
      }
    },
  }
}
const beginsMax = 3

const repeated = async ({ fingerprint, done }: Kept, own: Kept): Promise<Answered> => {
  if (fingerprint !== own.fingerprint)
    throw refuse(
      "keyReused",
      "Make a new key for each request; send the same again only with all of its bytes.",
    )
  if (done === undefined) throw busy()
  const replay = { "idempotency-replayed": "true" }
  if ("problem" in done)
    throw new Refused({ ...done.problem, headers: { ...done.problem.headers, ...replay } })
  if (done.body === "tooLarge")
    throw refuse("conflict", `It was done, with ${done.status}, and its answer was too large to be kept.`, {
      headers: {
        ...(done.headers["location"] === undefined ? {} : { location: done.headers["location"] }),
        ...replay,
      },
    })
  return { status: done.status, headers: { ...done.headers, ...replay }, body: await unpacked(done.body) }
}

const busy = (): Refused =>
  refuse("inProgress", "Wait, and send it again: then it gets the answer of the first one.", {
    retryable: true,
    headers: { "retry-after": "1" },
  })

// Each part with its length before it, so that no two lists have the same bytes.
const digest = (parts: ReadonlyArray<string | Uint8Array>): string => {
  const hash = createHash("sha256")
  for (const part of parts) {
    const bytes = typeof part === "string" ? Buffer.from(part) : part
    hash.update(`${bytes.byteLength}:`).update(bytes)
  }
  return hash.digest("hex")
}

const zip = promisify(gzip)
const unzip = promisify(gunzip)

const packed = async (text: string | null): Promise<KeptBody> => {
  if (text === null) return "none"
  if (text.length <= plainMax) return { text }
  const zipped = (await zip(text)).toString("base64")
  return zipped.length <= textMax ? { zipped } : "tooLarge"
}

const unpacked = async (body: Exclude<KeptBody, "tooLarge">): Promise<string | null> =>
  body === "none"
    ? null
    : "text" in body
      ? body.text
      : (await unzip(Buffer.from(body.zipped, "base64"))).toString()
