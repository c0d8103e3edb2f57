// What the looks of an examination share.
import { spanOf } from "../../../../core/domain/TimeSpan.ts"
import type { Finding } from "../../../../core/ports/Examination.ts"
import type { Queryable } from "../Connection.ts"

/** What an examination is about. */
export interface Examinee {
  readonly schema: string
  /** Names the server in what is found. */
  readonly target: string
  /** Whether nodes use prepared statements, as the address says. */
  readonly prepare: boolean
  readonly isLocal: boolean
}

/** One look: some findings, or an error when even that could not be done. */
export type Look = (queryable: Queryable) => Promise<ReadonlyArray<Finding>>

/** How long ago something was, in seconds that the server counted; `-` when it never was or may not be seen. */
export const since = (seconds: unknown): string => (seconds === null ? "-" : spanOf(Number(seconds) * 1000))
