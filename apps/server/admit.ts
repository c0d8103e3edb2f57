// Who may connect as a worker: by its token, or, as long as there is none in the store, by being on this machine.
import * as Effect from "effect/Effect"
import type { Admission, WorkersConfig } from "../../core/worker/WorkersConfig.ts"
import type { Denials, Denied } from "./Denials.ts"
import { isForwarded, isLocalAddress } from "./Local.ts"
import type { TokenBook } from "./TokenBook.ts"

// One text for all: which part of a token was wrong is nothing to tell a stranger.
const tokenReason = "a token is needed, and this one is missing, unknown, expired or revoked"
const laterReason = "too many refused connections from this address"
const storeReason = "tokens cannot be checked now"

/** Reasons of refusals that are told as `denied` here: the engine's own events about them say less. */
export const ownReasons: ReadonlySet<string | null> = new Set([tokenReason, laterReason, storeReason])

const denied = (close: "token" | "tryLater" | "server", reason: string): Admission => ({
  kind: "denied",
  close,
  reason,
})

/** The check of a connection. A token that is good is taken from any address, however many bad ones came from there. */
export const makeAdmit =
  (book: TokenBook, denials: Denials): WorkersConfig["admit"] =>
  ({ token, worker, request }) =>
    Effect.promise(async (): Promise<Admission> => {
      const refuse = (why: Denied["why"], id: string | null): Admission =>
        denials.add({ address: request.remoteAddress, worker, why, token: id })
          ? denied("token", tokenReason)
          : denied("tryLater", laterReason)
      const worth = await book.worthOf(token)
      switch (worth.kind) {
        case "valid":
          return { kind: "granted", grant: { id: worth.id, queues: worth.queues } }
        case "invalid":
          return refuse(worth.why, worth.id)
        case "unknowable":
          return denied("tryLater", storeReason)
        case "open":
          return isLocalAddress(request.remoteAddress) && !isForwarded(request.headers)
            ? { kind: "granted", grant: { id: null, queues: null } }
            : refuse("remote", null)
      }
    })
