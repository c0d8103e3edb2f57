// The worker tokens, or the API keys, as this server knows them: in memory, as a request must not cost a query, and read
// again every two seconds, so that what was revoked ends within five. The store's clock decides what has expired.
import type { CredentialKind, CredentialRow } from "../../core/ports/StoreDriver.ts"
import { queuesOf } from "./Credentials.ts"
import { inTime } from "./inTime.ts"
import { type KeyScope, keyScopeOf } from "./Keys.ts"
import { type CredentialsStore, isExpired } from "./storedCredentials.ts"
import { hasHash, parseKey, parseToken, type Token } from "./Token.ts"

/** Why a token is refused: for whoever runs the server, never for the peer. */
export type Wrong = "missing" | "malformed" | "unknown" | "wrong" | "expired" | "broken"

/** What a text is worth; a good one with what it allows. */
export type Worth<S extends object> =
  | ({ readonly kind: "valid"; readonly id: string } & S)
  /** None was given, and none is asked for. */
  | { readonly kind: "open" }
  | { readonly kind: "invalid"; readonly why: Wrong; readonly id: string | null }
  /** The store does not answer, and what is known is too old or too little. */
  | { readonly kind: "unknowable" }

/** Hears of a look at the store. */
export type OnLook = (valid: ReadonlySet<string>) => void

/** The credentials of one kind. */
export interface CredentialBook<S extends object> {
  /** What a text is worth; waits for the store only if it is not one that is known. Never rejects. */
  readonly worthOf: (text: string | null) => Promise<Worth<S>>
  /** Whether it is good as far as is known without a look at the store; it may have expired. */
  readonly isKnown: (text: string) => boolean
  /** Whether one is asked for. True from the first one on that was ever seen: to revoke the last must not open the door. */
  readonly isRequired: () => boolean
  /** Calls back after each look at the store with the ids that are good now, until the answered function is called. */
  readonly watch: (onLook: OnLook) => () => void
  /** The store's clock, as of the last look; epoch milliseconds. */
  readonly now: () => number
  readonly stop: () => void
}

/** What the token of a worker allows: these queues; `null`: all. */
export interface TokenScope {
  readonly queues: ReadonlyArray<string> | null
}

/** The worker tokens of a server. */
export type TokenBook = CredentialBook<TokenScope>

/** The API keys of a server; each with its name, for people. */
export type KeyBook = CredentialBook<KeyScope & { readonly name: string }>

/** Times in milliseconds; for tests. */
export interface BookOptions {
  readonly store: Pick<CredentialsStore, "credentials" | "now">
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
export const openTokenBook = (options: BookOptions): Promise<TokenBook> =>
  openBook(options, "worker", parseToken, ({ scope }) => {
    const queues = queuesOf(scope)
    return queues === undefined ? undefined : { queues }
  })

/** The same for API keys. */
export const openKeyBook = (options: BookOptions): Promise<KeyBook> =>
  openBook(options, "api", parseKey, ({ name, scope }) => {
    const allowed = keyScopeOf(scope)
    return allowed === undefined ? undefined : { name, ...allowed }
  })

const openBook = async <S extends object>(
  { store, onTrouble, everyMillis = 2_000, holdMillis = 60_000 }: BookOptions,
  kind: CredentialKind,
  parse: (text: string) => Token | null,
  scopeOf: (row: CredentialRow) => S | undefined,
): Promise<CredentialBook<S>> => {
  const monotonic = (): number => performance.now()
  let rows: ReadonlyMap<string, CredentialRow> = new Map()
  let isRequired = false
  let storeAhead = 0
  let readAt = 0
  let lookedAt = Number.NEGATIVE_INFINITY
  let failing = false
  let stopped = false
  let looking: Promise<boolean> | null = null
  const watchers = new Set<OnLook>()
  const storeNow = (): number => monotonic() + storeAhead

  const read = async () => {
    const since = monotonic()
    return {
      since,
      now: await store.now(),
      found: (await store.credentials()).filter((row) => row.kind === kind),
    }
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
        .filter((row) => !isExpired(row.expiresAt, now) && scopeOf(row) !== undefined)
        .map(({ id }) => id),
    )
  }

  const worthOf = async (text: string | null): Promise<Worth<S>> => {
    if (monotonic() - readAt > holdMillis) return { kind: "unknowable" }
    if (text === null) return isRequired ? invalid("missing") : { kind: "open" }
    const token = parse(text)
    if (token === null) return invalid("malformed")
    const known = rows.get(token.id)
    // Also for a wrong secret: how long an answer takes must not tell which ids there are.
    if (!isOf(token, known) && !(await lookSoon())) return { kind: "unknowable" }
    const row = rows.get(token.id)
    if (row === undefined) return invalid("unknown", token.id)
    if (!isOf(token, row)) return invalid("wrong", token.id)
    if (isExpired(row.expiresAt, storeNow())) return invalid("expired", token.id)
    const scope = scopeOf(row)
    return scope === undefined ? invalid("broken", token.id) : { kind: "valid", id: token.id, ...scope }
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
    const good = valid()
    for (const watcher of watchers) watcher(good)
    goOn()
  }
  goOn()
  return {
    worthOf,
    isRequired: () => isRequired,
    watch: (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    isKnown: (text) => {
      const token = parse(text)
      return token !== null && isOf(token, rows.get(token.id))
    },
    now: () => Math.floor(storeNow()),
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

const invalid = (why: Wrong, id: string | null = null) => ({ kind: "invalid", why, id }) as const

const isOf = ({ secret }: Token, row: CredentialRow | undefined): boolean =>
  row !== undefined && hasHash(secret, row.hash)

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))
