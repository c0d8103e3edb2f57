// What happens to runs while they run: the acknowledgement of starts, which from then on uses up the attempt, and the move
// to another node.
import * as Transition from "../../core/domain/Transition.ts"
import type { Held } from "../../core/ports/StoreDriver.ts"
import type { Sql } from "./Sql.ts"
import { each } from "./upkeep.ts"
import type { Work } from "./Work.ts"

/** Acknowledges starts; answers which tokens still hold. */
export function* startRuns(work: Work, held: ReadonlyArray<Held>): Sql<ReadonlyArray<boolean>> {
  const answers: Array<boolean> = []
  for (const { id, token } of held) {
    const found = yield* work.find(id)
    const after = found && Transition.startAcknowledged(found.run, token)
    if (found && after && !found.run.startAcknowledged)
      yield* work.save(found.run, after, found.settledToken, null)
    answers.push(!!after)
  }
  return answers
}

/** Gives runs to a node whose lease holds; answers which tokens hold. */
export const adoptRuns = (work: Work, node: string, held: ReadonlyArray<Held>): Sql<ReadonlyArray<boolean>> =>
  each(
    work,
    held,
    ({ id }) => id,
    function* ({ id, token }): Sql<boolean> {
      const found = yield* work.find(id)
      const after = found && Transition.adopted(found.run, token, node)
      if (found && after && found.run.node !== node)
        yield* work.save(found.run, after, found.settledToken, null)
      return !!after
    },
  )
