// The worker tokens as this server knows them: in memory, as a connection must not cost a query, and read again every
// two seconds, so that what was revoked ends within five. The store's clock decides what has expired.
import type { CredentialRow } from "../../core/ports/StoreDriver.ts"
import { isExpired, queuesOf, type TokenStore, workerTokens } from "./Credentials.ts"
import { inTime } from "./inTime.ts"
import { hasHash, parseToken } from "./Token.ts"

/** Why a token is refused: for whoever runs the server, never for the peer. */
export type Wrong = "missing" | "malformed" | "unknown" | "wrong" | "expired" | "broken"

/** What a token is worth. */
export type Worth =
  | { readonly kind: "valid"; readonly id: string; readonly queues: ReadonlyArray<string> | null }
  /** None was given, and none is asked for: there never was a token since this server started. */
  | { readonly kind: "open" }
  | { readonly kind: "invalid"; readonly why: Wrong; readonly id: string | null }
  /** The store does not answer, and what is known is too old or too little. */
  | { readonly kind: "unknowable" }

/** The tokens of a server. */
export interface TokenBook {
  /** What a text is worth; waits for the store only if it names an id that is not known. Never rejects. */
  readonly worthOf: (token: string | null) => Promise<Worth>
  /**
   * Whether a token is asked for. True from the first token on that was ever seen: to revoke the last one must not
   * open the door.
   */
  readonly isRequired: () => boolean
  /** Calls back after each look at the store, and goes on doing so, with the ids that are good now. */
  readonly watch: (onLook: (valid: ReadonlySet<string>) => void) => void
  readonly stop: () => void
}

/** Times in milliseconds; for tests. */
export interface TokenBookOptions {
  readonly store: Pick<TokenStore, "credentials" | "now">
  /** Hears of the first failure of several in a row. */
  readonly onTrouble: (error: unknown) => void
  /** How often the store is looked at; default 2,000. */
  readonly everyMillis?: number
  /** For how long what was read holds if the store does not answer; default 60,000. */
  readonly holdMillis?: number
}

// Unknown ids, which anybody can make up, cause no more looks than this.
const asideMillis = 1_000
// A look that takes longer is given up: the next one may get through.
const lookMillisMax = 10_000

/** Reads the tokens for the first time, or fails as the store does. */
export const openTokenBook = async ({
  store,
  onTrouble,
  everyMillis = 2_000,
  holdMillis = 60_000,
}: TokenBookOptions): Promise<TokenBook> => {
  const monotonic = (): number => performance.now()
  let rows: ReadonlyMap<string, CredentialRow> = new Map()
  let isRequired = false
  let storeAhead = 0
  let readAt = 0
  let lookedAt = Number.NEGATIVE_INFINITY
  let failing = false
  let stopped = false
  let looking: Promise<boolean> | null = null
  let onLook: (valid: ReadonlySet<string>) => void = () => undefined
  const storeNow = (): number => monotonic() + storeAhead

  const read = async () => {
    const since = monotonic()
    return { since, now: await store.now(), found: await workerTokens(store) }
  }
  const take = ({ since, now, found }: Awaited<ReturnType<typeof read>>): void => {
    rows = new Map(found.map((row) => [row.id, row]))
    storeAhead = now - since
    // What was read is as old as the question.
    readAt = since
    if (rows.size > 0) isRequired = true
  }

  /** Answers whether what is known is fresh. All who ask at the same time share one look. */
  const look = (): Promise<boolean> => {
    lookedAt = monotonic()
    looking ??= inTime(read(), lookMillisMax, () => new Error(`no answer in ${lookMillisMax} ms`))
      .then(
        // Only here: an answer that came after its look was given up may be older than what is known.
        (answer) => {
          take(answer)
          failing = false
          return true
        },
        (error: unknown) => {
          if (!failing && !stopped) onTrouble(error)
          failing = true
          return false
        },
      )
      .finally(() => {
        looking = null
      })
    return looking
  }

  const lookAside = async (): Promise<boolean> => {
    // What has begun may have asked before the token was made.
    if (looking !== null) await looking
    const wait = lookedAt + asideMillis - monotonic()
    if (wait > 0) await pause(wait)
    return look()
  }
  let aside: Promise<boolean> | null = null
  const lookSoon = (): Promise<boolean> => {
    aside ??= lookAside().finally(() => {
      aside = null
    })
    return aside
  }

  const valid = (): ReadonlySet<string> => {
    const now = storeNow()
    return new Set(
      [...rows.values()]
        .filter(({ expiresAt, scope }) => !isExpired(expiresAt, now) && queuesOf(scope) !== undefined)
        .map(({ id }) => id),
    )
  }

  const worthOf = async (text: string | null): Promise<Worth> => {
    if (monotonic() - readAt > holdMillis) return { kind: "unknowable" }
    if (text === null) return isRequired ? invalid("missing") : { kind: "open" }
    const token = parseToken(text)
    if (token === null) return invalid("malformed")
    if (!rows.has(token.id) && !(await lookSoon())) return { kind: "unknowable" }
    const row = rows.get(token.id)
    if (row === undefined) return invalid("unknown", token.id)
    if (!hasHash(token.secret, row.hash)) return invalid("wrong", token.id)
    if (isExpired(row.expiresAt, storeNow())) return invalid("expired", token.id)
    const queues = queuesOf(row.scope)
    return queues === undefined ? invalid("broken", token.id) : { kind: "valid", id: token.id, queues }
  }

  take(await read())
  lookedAt = monotonic()
  let timer: ReturnType<typeof setTimeout> | undefined
  const goOn = (): void => {
    timer = setTimeout(() => void look().finally(tell), everyMillis)
  }
  const tell = (): void => {
    if (stopped) return
    // Also after a look that failed: what is known expires all the same.
    onLook(valid())
    goOn()
  }
  goOn()
  return {
    worthOf,
    isRequired: () => isRequired,
    watch: (listener) => {
      onLook = listener
    },
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

const invalid = (why: Wrong, id: string | null = null): Worth => ({ kind: "invalid", why, id })

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))
