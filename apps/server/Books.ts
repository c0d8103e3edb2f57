// What a server knows of who may use it: the tokens of its workers and the keys of its API, with what it takes to listen
// where others can reach it.
import { isLoopback } from "../../adapters/transport-websocket/ServeOptions.ts"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { type BookOptions, type KeyBook, openKeyBook, openTokenBook, type TokenBook } from "./TokenBook.ts"

/** Both books. */
export interface Books {
  readonly tokens: TokenBook
  readonly keys: KeyBook
  readonly stop: () => void
}

/** Reads both for the first time, or fails as the store does. `onTrouble` hears of what could not be read later. */
export const openBooks = async (
  store: BookOptions["store"],
  onTrouble: (doing: string, error: unknown) => void,
): Promise<Books> => {
  const hear = (doing: string) => (error: unknown) => onTrouble(doing, error)
  const tokens = await openTokenBook({ store, onTrouble: hear("read the worker tokens") })
  try {
    const keys = await openKeyBook({ store, onTrouble: hear("read the API keys") })
    return {
      tokens,
      keys,
      stop: () => {
        tokens.stop()
        keys.stop()
      },
    }
  } catch (error) {
    tokens.stop()
    throw error
  }
}

/** Throws `InvalidInput` that says what is missing, if others can reach the address and cannot all be asked who they are. */
export const checkDoor = (hostname: string, { tokens, keys }: Books): void => {
  if (isLoopback(hostname)) return
  const missing = [
    ...(tokens.isRequired()
      ? []
      : [["no worker token", "anybody could take runs", "uhrwerk token create --name NAME"]]),
    ...(keys.isRequired()
      ? []
      : [["no API key", "nobody could use the API", "uhrwerk key create --name NAME --role admin"]]),
  ]
  if (missing.length === 0) return
  const all = (place: number): string => missing.map((each) => each[place]).join(" and ")
  throw new InvalidInput({
    field: "hostname",
    reason: `other machines can reach "${hostname}", and there is ${all(0)} in the store, so ${all(1)}`,
    next: `Make what is missing first: ${all(2)}. Or listen on 127.0.0.1.`,
  })
}
