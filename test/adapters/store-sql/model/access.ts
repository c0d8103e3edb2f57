// Operations on what nodes say of their workers, and on credentials.
import { type Made, nodes, operation, type World } from "./world.ts"

const ids = ["k1", "k2", "k3", "k4"] as const

export const reportWorkers = ({ choice, alive }: World): Made =>
  operation(
    "reportWorkers",
    choice.of(alive.length > 0 && choice.percent(80) ? alive : nodes),
    JSON.stringify([{ name: choice.of(["w1", "wörker"]), slots: choice.int(0, 9) }]),
  )

export const allWorkers = (): Made => operation("workers")

export const putCredential = (world: World): Made => {
  const { choice } = world
  return operation("putCredential", {
    id: choice.of(ids),
    kind: choice.of(["worker", "api"]),
    name: choice.of(["edge", "office", "a name"]),
    hash: choice.int(0, 9).toString(16).repeat(64),
    scope: choice.of(["{}", '{"queues":["default"]}']),
    expiresAt: choice.percent(50) ? null : world.instant(5_000, 20_000),
  })
}

export const allCredentials = (): Made => operation("credentials")

export const deleteCredentials = ({ choice }: World): Made =>
  operation(
    "deleteCredentials",
    choice.list(0, 2, () => choice.of(ids)),
  )
