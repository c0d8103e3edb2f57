// Which protocol two sides speak. A breaking change is a new version with a subprotocol name of its own; a server
// speaks the newest and the one before it. Small additions are capabilities, or fields, which the other side ignores.
import * as Result from "effect/Result"
import { closeReason } from "./Close.ts"

/** The newest version that this code speaks. */
export const currentVersion = 1

/** The WebSocket subprotocol of a version. */
export const subprotocol = (version: number): string => `uhrwerk.worker.v${version}`

/** Versions spoken, newest first: the newest and the one before it, where there is one. */
export const spokenVersions = (newest: number = currentVersion): ReadonlyArray<number> =>
  [newest, newest - 1].filter((version) => version >= 1)

/**
 * The version to speak with a worker that offers these subprotocols: the newest in common. Without one: the reason
 * for the close with 4406. Names of others are passed over.
 */
export const negotiate = (
  offered: ReadonlyArray<string>,
  newest: number = currentVersion,
): Result.Result<number, string> => {
  const spoken = spokenVersions(newest)
  const found = spoken.find((version) => offered.includes(subprotocol(version)))
  if (found !== undefined) return Result.succeed(found)
  const names = spoken.map(subprotocol).join(" and ")
  const given = offered.length === 0 ? "none" : offered.slice(0, 5).join(", ")
  return Result.fail(closeReason(`this server speaks ${names}, the worker offered ${given}`))
}

/**
 * What a worker offers after a close with 4406: the version before, and then nothing. One at a time, as `ws` on Deno
 * fails over two names.
 */
export const nextOffer = (tried: number, newest: number = currentVersion): number | null =>
  spokenVersions(newest).find((version) => version < tried) ?? null

/**
 * What a side may know beyond the basics. `resume`: a worker comes back after a cut with its runs in hand. `flows`:
 * its handlers may answer with an expansion.
 */
export const capabilities = ["resume", "flows"] as const

/** What both sides know; what only one of them names is not used. */
export const agree = (ours: ReadonlyArray<string>, theirs: ReadonlyArray<string>): ReadonlyArray<string> =>
  ours.filter((each) => theirs.includes(each))
