// What an error of PostgreSQL, or of the way to it, means: may the same be tried again at once, can something have
// been done all the same, and what the person who started the program should do.
import { StoreUnusable } from "../../../core/domain/Errors.ts"

/** The code of an error: five characters of the server's, or the name that the connection gives. */
export const codeOf = (error: unknown): string => {
  const code = (error as { readonly code?: unknown } | null)?.code
  return typeof code === "string" ? code : ""
}

/** Whether the server itself said so. Only that has a severity: "EPIPE" looks like one of its codes. */
export const isOfServer = (error: unknown): boolean =>
  typeof (error as { readonly severity?: unknown } | null)?.severity === "string"

/** Whether it is the last that the server says on this connection. */
export const isLast = (error: unknown): boolean =>
  ["FATAL", "PANIC"].includes(String((error as { readonly severity?: unknown } | null)?.severity))

/** A deadlock or a serialization failure: the transaction was rolled back, and the next try may pass. */
export const isTransient = (error: unknown): boolean =>
  isOfServer(error) && ["40001", "40P01", "55P03"].includes(codeOf(error))

/** Two wrote the same key. */
export const isDuplicate = (error: unknown): boolean => isOfServer(error) && codeOf(error) === "23505"

/**
 * Marks an error after which nothing was done: the server refused a statement and rolled back, or it was never reached.
 * When the connection broke, or the server went down, a commit may be hidden behind it.
 */
export const marked = (error: unknown): unknown => {
  const code = codeOf(error)
  const nothingDone = isOfServer(error)
    ? !/^(08|57P)/.test(code)
    : ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "CONNECT_TIMEOUT", "CONNECTION_ENDED"].includes(code)
  return nothingDone && error instanceof Error ? Object.assign(error, { outcomeUnknown: false }) : error
}

/** The refusal for what went wrong while a store was opened; an error that says something else as it is. */
export const unusable = (target: string, error: unknown): unknown => {
  if (error instanceof StoreUnusable) return error
  const message = error instanceof Error ? error.message : String(error)
  const refuse = (kind: StoreUnusable["kind"], reason: string, next: string): StoreUnusable =>
    new StoreUnusable({ kind, field: `storage "${target}"`, reason: `${reason} (${message})`, next })
  switch (codeOf(error)) {
    case "ECONNREFUSED":
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "EHOSTUNREACH":
    case "ETIMEDOUT":
    case "ENOENT":
    case "CONNECT_TIMEOUT":
      return refuse(
        "unreachable",
        "no PostgreSQL server answers there",
        "Check host and port, and that the server runs and accepts connections from this machine.",
      )
    case "08P01":
      if (!/startup parameter/.test(message)) return error
      return refuse(
        "unreachable",
        "a pooler is between, which does not take what belongs to a session",
        "Put prepare=false behind the storage's address: postgres://...?prepare=false",
      )
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "CERT_HAS_EXPIRED":
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return refuse(
        "denied",
        "the server's certificate is not one to trust under this name",
        "Name the file of certificates that vouch for it, with sslrootcert, and the host as the certificate does.",
      )
    case "57P03":
    case "53300":
      return refuse("unreachable", "the server takes no connection now", "Wait a moment and try again.")
    case "28P01":
    case "28000":
      return refuse(
        "denied",
        "the server refuses this user",
        "Check user and password in the URL, and the server's pg_hba.conf.",
      )
    case "3D000":
      return refuse("notFound", "there is no such database", "Create it, or correct the URL.")
    case "42501":
      return refuse(
        "notWritable",
        "this user may not make or change the tables",
        "Grant it CREATE on the database, or have its owner run the migrations.",
      )
    case "25006":
      return refuse(
        "notWritable",
        "the server is read-only",
        "Name the primary server; a standby takes no writes.",
      )
  }
  return error
}

/** The tables were made by a newer version of this program. */
export const newerSchema = (target: string, schema: string, version: number, known: number): StoreUnusable =>
  new StoreUnusable({
    kind: "newerSchema",
    field: `storage "${target}"`,
    reason: `schema "${schema}" has version ${version}, this program knows ${known}`,
    next: "Upgrade uhrwerk, or name another schema.",
  })

/** The schema holds another program's tables. */
export const foreignSchema = (target: string, schema: string, table: string): StoreUnusable =>
  new StoreUnusable({
    kind: "notADatabase",
    field: `storage "${target}"`,
    reason: `schema "${schema}" is another program's (it has a table "${table}")`,
    next: "Name another schema; this one was not changed.",
  })

/** The server is too old. */
export const tooOld = (target: string, version: string): StoreUnusable =>
  new StoreUnusable({
    kind: "tooOld",
    field: `storage "${target}"`,
    reason: `the server is PostgreSQL ${version}, and 14 is the oldest that will do`,
    next: "Upgrade the server, or name another one.",
  })
