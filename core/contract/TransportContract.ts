// The whole contract of a transport, and how one of its cases is run. A test runner registers each as a test.
import * as Effect from "effect/Effect"
import type * as Context from "effect/Context"
import { bytes } from "./TransportContract/bytes.ts"
import { ending } from "./TransportContract/ending.ts"
import { frames } from "./TransportContract/frames.ts"
import { type TransportCase, TransportGround } from "./TransportContract/ground.ts"
import { opening } from "./TransportContract/opening.ts"

export type {
  TransportAbility,
  TransportCase,
  WireFrame,
  WireOptions,
  WirePeer,
} from "./TransportContract/ground.ts"
export { TransportGround } from "./TransportContract/ground.ts"

/** All cases of a transport. */
export const transportContract: ReadonlyArray<TransportCase> = [...opening, ...frames, ...ending, ...bytes]

/** Runs one case, which fails when its promise is broken. Its servers and peers are closed when it is over. */
export const runTransportCase = (
  { run }: TransportCase,
  ground: Context.Service.Shape<typeof TransportGround>,
): Effect.Effect<void, unknown> => Effect.scoped(Effect.provideService(run, TransportGround, ground))
