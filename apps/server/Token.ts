// The text of a worker's token, `uhrw_<id>_<secret>`: the id finds its row, the secret proves that it is held.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"

/** A token, taken apart. */
export interface Token {
  /** No secret: it is shown in lists and logs. */
  readonly id: string
  /** 256 random bits. */
  readonly secret: string
}

const idBytes = 8
const secretBytes = 32
const pattern = /^uhrw_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/

/** A new one, of the system's own randomness. */
export const makeToken = (): Token => ({
  id: randomBytes(idBytes).toString("hex"),
  secret: randomBytes(secretBytes).toString("base64url"),
})

/** The text that a worker is given. */
export const tokenText = ({ id, secret }: Token): string => `uhrw_${id}_${secret}`

/** `null`: this is no token, whatever else it is. */
export const parseToken = (text: string): Token | null => {
  const [, id, secret] = pattern.exec(text) ?? []
  return id === undefined || secret === undefined ? null : { id, secret }
}

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
