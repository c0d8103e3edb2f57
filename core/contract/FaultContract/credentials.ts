// What the operations on credentials owe to a caller who did not hear the answer.
import * as Effect from "effect/Effect"
import { CredentialStore } from "../../ports/Store.ts"
import type { Case } from "../Case.ts"
import { newCredential, putCredential } from "../CredentialStoreContract.ts"
import { trial } from "./fixtures.ts"

/** Cases of operations on credentials. */
export const credentialFaultCases: ReadonlyArray<Case> = [
  ...trial({
    operation: "putCredential",
    promise: "it answers exists, and the first one stays as it was made",
    prepare: Effect.as(putCredential(newCredential(1)), putCredential(newCredential(2))),
    recorded: () => "exists",
  }),
  ...trial({
    operation: "deleteCredentials",
    promise: "it finds none more",
    prepare: Effect.gen(function* () {
      for (const n of [1, 2, 3]) yield* putCredential(newCredential(n))
      return Effect.flatMap(CredentialStore, (store) => store.deleteCredentials(["c1", "c3", "c9"]))
    }),
    recorded: () => 0,
  }),
]
