// The texts that prove who somebody is: an id, which finds the row, and a secret, which proves that it is held. A worker's
// token is `uhrw_<id>_<secret>`, a key for the API `uhr_api_<id>_<secret>`; neither is ever taken for the other.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"

/** A token or key, taken apart. */
export interface Token {
  /** No secret: it is shown in lists and logs. */
  readonly id: string
  /** 256 random bits. */
  readonly secret: string
}

const idBytes = 8
const secretBytes = 32

/** A new one, of the system's own randomness. */
export const makeToken = (): Token => ({
  id: randomBytes(idBytes).toString("hex"),
  secret: randomBytes(secretBytes).toString("base64url"),
})

const formatOf = (prefix: string) => {
  const pattern = new RegExp(`^${prefix}_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$`)
  return {
    text: ({ id, secret }: Token): string => `${prefix}_${id}_${secret}`,
    parse: (text: string): Token | null => {
      const [, id, secret] = pattern.exec(text) ?? []
      return id === undefined || secret === undefined ? null : { id, secret }
    },
  }
}

const worker = formatOf("uhrw")
const api = formatOf("uhr_api")

/** The text that a worker is given. */
export const tokenText: (token: Token) => string = worker.text
/** `null`: this is no token of a worker, whatever else it is. */
export const parseToken: (text: string) => Token | null = worker.parse
/** The text that a client of the API is given. */
export const keyText: (key: Token) => string = api.text
/** `null`: this is no key, whatever else it is. */
export const parseKey: (text: string) => Token | null = api.parse

/**
 * What is stored of a secret: SHA-256 in hex. A fast hash is right here, as there is nothing to guess: a slow one
 * protects passwords, which have few bits, and would only make 200 connections a second expensive.
 */
export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex")

/** Whether the secret has this hash; takes as long for one that differs early as for one that differs late. */
export const hasHash = (secret: string, hash: string): boolean => {
  const [own, stored] = [Buffer.from(hashOf(secret)), Buffer.from(hash)]
  return own.length === stored.length && timingSafeEqual(own, stored)
}
