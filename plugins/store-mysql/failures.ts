// What an error of MySQL, or of the way to it, means: may the same be tried again at once, can something have been done
// all the same, and what the person who started the program should do.
import { StoreUnusable } from "uhrwerk/sql"

/** The number of an error that the server itself gave; 0 for any other. */
const numberOf = (error: unknown): number => {
  const { errno, sqlState } = (error ?? {}) as { readonly errno?: unknown; readonly sqlState?: unknown }
  return typeof errno === "number" && typeof sqlState === "string" ? errno : 0
}

/** Whether the server itself said so. */
export const isOfServer = (error: unknown): boolean => numberOf(error) > 0

// The server goes down, or has ended this connection: the last that it says on it.
const lastNumbers = [1053, 1152, 1153, 1184, 1927, 4031]
/** Whether nothing more is to be heard on this connection. */
export const isLast = (error: unknown): boolean => lastNumbers.includes(numberOf(error))

/**
 * A deadlock, a wait for a lock that took too long, or a row that changed in between (also how clusters refuse a commit):
 * nothing is done, and the next try may pass.
 */
export const isTransient = (error: unknown): boolean =>
  [1020, 1205, 1213, 1637, 3101].includes(numberOf(error))

/** Two wrote the same key. */
export const isDuplicate = (error: unknown): boolean => [1062, 1586].includes(numberOf(error))

// Codes of an attempt to connect: nothing was sent.
const unreached = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]

/** An error of opening a connection: nothing was done. */
export const neverSent = (error: unknown): unknown =>
  error instanceof Error ? Object.assign(error, { outcomeUnknown: false }) : error

/**
 * Marks an error after which nothing was done: the server refused a statement, and the transaction was rolled back. When
 * the connection broke, or the server went down, a commit may be hidden behind it.
 */
export const marked = (error: unknown): unknown =>
  isOfServer(error) && !isLast(error) ? neverSent(error) : error

/** The connection went away, or was given up. */
export const lost = (why: string): Error =>
  Object.assign(new Error(why), { code: "PROTOCOL_CONNECTION_LOST" })

/** The refusal for what went wrong while a store was opened; an error that says something else as it is. */
export const unusable = (target: string, error: unknown): unknown => {
  if (error instanceof StoreUnusable) return error
  const message = error instanceof Error ? error.message : String(error)
  const refuse = (kind: StoreUnusable["kind"], reason: string, next: string): StoreUnusable =>
    new StoreUnusable({ kind, field: `storage "${target}"`, reason: `${reason} (${message})`, next })
  const code = String((error as { readonly code?: unknown } | null)?.code)
  if ([...unreached, "ETIMEDOUT", "ECONNRESET", "PROTOCOL_CONNECTION_LOST"].includes(code))
    return refuse(
      "unreachable",
      "no MySQL or MariaDB server answers there",
      "Check host and port, and that the server runs and accepts connections from this machine.",
    )
  switch (numberOf(error)) {
    case 1040:
    case 1053:
    case 1203:
    case 1226:
      return refuse("unreachable", "the server takes no connection now", "Wait a moment and try again.")
    case 1045:
    case 1130:
    case 1251:
    case 1698:
    case 1862:
      return refuse(
        "denied",
        "the server refuses this user",
        "Check user and password in the URL, and from which hosts the server lets this user in.",
      )
    case 1049:
      return refuse("notFound", "there is no such database", "Create it, or correct the name.")
    case 1044:
    case 1142:
    case 1227:
      return refuse(
        "notWritable",
        "this user may not make or change the tables",
        "Grant it ALL on the database, or have its owner run the migrations.",
      )
    case 1290:
    case 1792:
    case 1836:
      return refuse(
        "notWritable",
        "the server is read-only",
        "Name the primary server; a replica takes no writes.",
      )
  }
  return error
}

const refused = (kind: StoreUnusable["kind"], target: string, reason: string, next: string): StoreUnusable =>
  new StoreUnusable({ kind, field: `storage "${target}"`, reason, next })

/** The tables were made by a newer version of this program. */
export const newerSchema = (target: string, name: string, version: number, known: number): StoreUnusable =>
  refused(
    "newerSchema",
    target,
    `database "${name}" has version ${version}, this program knows ${known}`,
    "Upgrade uhrwerk-store-mysql, or name another database.",
  )

/** The database holds another program's tables. */
export const foreignDatabase = (target: string, name: string, table: string): StoreUnusable =>
  refused(
    "notADatabase",
    target,
    `database "${name}" is another program's (it has a table "${table}")`,
    'Name a database of its own, as in `database: "uhrwerk"`; this one was not changed.',
  )

/** The server is too old. */
export const tooOld = (target: string, version: string): StoreUnusable =>
  refused(
    "tooOld",
    target,
    `the server is ${version}, and MySQL 8.0.17 and MariaDB 10.6 are the oldest that will do`,
    "Upgrade the server, or name another one.",
  )

/** A setting of the server does not do. */
export const wrongSetting = (target: string, reason: string, next: string): StoreUnusable =>
  refused("notWritable", target, reason, next)

/** Another program does not come to the end of its migration. */
export const busyMigrating = (target: string, seconds: number): StoreUnusable =>
  refused(
    "unreachable",
    target,
    `another program has been migrating it for ${seconds} seconds`,
    "Wait for its end and try again.",
  )
