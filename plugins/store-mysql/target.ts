// Where the store is: the address taken apart once, so that errors can name it without its password.
import { StoreUnusable } from "uhrwerk/sql"

/** A server, and the database that all tables are in. */
export interface Target {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  /** Host, port and database, as errors name them. */
  readonly name: string
}

const databaseDefault = "uhrwerk"

const refuse = (field: string, reason: string, next: string): StoreUnusable =>
  new StoreUnusable({ kind: "notADatabase", field, reason, next })

/** Reads an address; throws `StoreUnusable`, which never says a password. */
export const targetOf = (address: string, database?: string): Target => {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || !/^(mysql|mariadb):$/.test(url.protocol))
    throw refuse(
      "url",
      "it is no address of a MySQL or MariaDB server",
      'Write "mysql://USER:PASSWORD@HOST:PORT/DATABASE", with what is special in a password as %-codes.',
    )
  if (url.search !== "" || url.hash !== "")
    throw refuse("url", "settings in an address are not read", "Leave out what is behind the database.")
  const host = url.hostname === "" ? "127.0.0.1" : url.hostname.replace(/^\[|\]$/g, "")
  const port = url.port === "" ? 3306 : Number(url.port)
  const path = decoded(url.pathname.slice(1))
  const named = checkDatabase(database ?? (path === "" ? databaseDefault : path))
  return {
    host,
    port,
    user: decoded(url.username) || "root",
    password: decoded(url.password),
    database: named,
    name: `${url.hostname === "" ? host : url.hostname}:${port}/${named}`,
  }
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refuse("url", "a %-code in it is none", 'Write "%25" for a "%".')
  }
}

/** Answers the name if it can be that of our database, which stands in statements; throws `StoreUnusable` otherwise. */
export const checkDatabase = (name: string): string => {
  const next = 'Name one of at most 40 lower-case letters, digits and "_", for example "uhrwerk".'
  // Room for what is put before it: names of locks have at most 64 characters.
  if (!/^[a-z_][a-z0-9_]{0,39}$/.test(name))
    throw refuse(`database "${name}"`, "the name is not a plain name", next)
  if (/^(mysql|sys|information_schema|performance_schema)$/.test(name))
    throw refuse(`database "${name}"`, "the store wants a database of its own", next)
  return name
}
