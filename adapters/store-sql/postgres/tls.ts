// Encryption of connections, as an address says it in libpq's words: `sslmode` and `sslrootcert`. Read here, as
// postgres-js knows no file of certificates, and checks the name of a server only where the address has one, not a number.
import { readFileSync } from "node:fs"
import { checkServerIdentity, type PeerCertificate } from "node:tls"
import { StoreUnusable } from "../../../core/domain/Errors.ts"

/** An address without what is said of encryption, and that for postgres-js; `undefined`: nothing is said. */
export interface Encryption {
  readonly url: string
  readonly ssl: false | "prefer" | "require" | Verified | undefined
}

interface Verified {
  readonly rejectUnauthorized: true
  readonly ca?: string
  readonly checkServerIdentity: (name: string, certificate: PeerCertificate) => Error | undefined
}

const modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

/**
 * What an address says. `allow` and `prefer` encrypt where the server can; `require` always, with whomever; `verify-ca`
 * with a server that the certificates of `sslrootcert` (a file; without it those of the runtime) vouch for; `verify-full`
 * if it has the name of the address as well. `require` with `sslrootcert` is `verify-ca`. Throws `StoreUnusable`.
 */
export const encryptionOf = (address: string): Encryption => {
  if (!URL.canParse(address)) return { url: address, ssl: undefined }
  const url = new URL(address)
  const mode = url.searchParams.get("sslmode")
  const file = url.searchParams.get("sslrootcert")
  if (mode === null && file === null) return { url: address, ssl: undefined }
  url.searchParams.delete("sslmode")
  url.searchParams.delete("sslrootcert")
  const rest = url.toString()
  const wanted = file !== null && (mode === null || mode === "require") ? "verify-ca" : mode
  switch (wanted) {
    case "disable":
      return { url: rest, ssl: false }
    case "allow":
    case "prefer":
      return { url: rest, ssl: "prefer" }
    case "require":
      return { url: rest, ssl: "require" }
    case "verify-ca":
      return { url: rest, ssl: { ...trusted(file), checkServerIdentity: () => undefined } }
    case "verify-full": {
      const host = url.hostname.replace(/^\[|\]$/g, "")
      return {
        url: rest,
        ssl: {
          ...trusted(file),
          checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
        },
      }
    }
  }
  throw new StoreUnusable({
    kind: "notADatabase",
    field: "sslmode",
    reason: `"${mode}" is none of ${modes.join(", ")}`,
    next: "Write ?sslmode=verify-full, or another of them, behind the storage's address.",
  })
}

const trusted = (file: string | null): Pick<Verified, "rejectUnauthorized" | "ca"> => {
  if (file === null || file === "system") return { rejectUnauthorized: true }
  try {
    return { rejectUnauthorized: true, ca: readFileSync(file, "utf8") }
  } catch (error) {
    throw new StoreUnusable({
      kind: "notFound",
      field: "sslrootcert",
      reason: `"${file}" cannot be read (${(error as Error).message})`,
      next: "Name a file with the certificates that vouch for the server, in PEM.",
    })
  }
}
