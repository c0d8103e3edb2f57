// Which codes a client can close with: Node and Deno throw for all others, so no transport lets a client use them.
import { closeCode } from "../../core/ports/Transport.ts"

/** The code itself if a client may say it, else the one of our protocol that means the same. */
export const clientCode = (code: number): number => {
  if (code === closeCode.normal || (code >= 3_000 && code <= 4_999)) return code
  return code === closeCode.tooLarge || code === closeCode.binary ? closeCode.badMessage : closeCode.server
}
