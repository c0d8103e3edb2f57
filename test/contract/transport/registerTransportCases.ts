// Registers the transport contract with a test runner: each case is a test, on servers of its own.
import * as Effect from "effect/Effect"
import type * as Context from "effect/Context"
import {
  runTransportCase,
  type TransportAbility,
  type TransportGround,
  transportContract,
} from "../../../core/contract/TransportContract.ts"
import type { TestFunction } from "../../../apps/sdk/registerCases.ts"

/** Registers all cases; those that need what the transport lacks are skipped, with the reason that is given. */
export const registerTransportCases = (
  test: TestFunction,
  transport: string,
  ground: () => Context.Service.Shape<typeof TransportGround>,
  lacks: Partial<Record<TransportAbility, string>> = {},
): void => {
  for (const each of transportContract) {
    const reason = each.needs?.map((need) => lacks[need]).find((text) => text !== undefined)
    const name = `${transport} > ${each.name}`
    if (reason === undefined) test(name, () => Effect.runPromise(runTransportCase(each, ground())))
    else test.skip(`${name} (${reason})`, () => Promise.resolve())
  }
}
