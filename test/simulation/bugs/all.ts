// Every planted bug. Each must be found within `seedMax` seeds: that is what says that the checks can see.
import * as flows from "./flows.ts"
import type { Planted } from "./Planted.ts"
import * as rows from "./rows.ts"
import * as schedules from "./schedules.ts"
import * as tokens from "./tokens.ts"
import * as wakes from "./wakes.ts"
import * as workers from "./workers.ts"

/** Seeds that each has to be found in. */
export const seedMax = 200

/** All of them. */
export const planted: ReadonlyArray<Planted> = [rows, tokens, wakes, flows, schedules, workers].flatMap(
  (group) => Object.values(group),
)
