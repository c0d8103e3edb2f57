// The servers that are compared: each kind on each runtime that has it, ours and the bare one that it stands on.

/** What serves. */
export const kinds = ["ws", "native"] as const
export type Kind = (typeof kinds)[number]

/** Where it runs. */
export const runtimes = ["node", "bun", "deno"] as const
export type RuntimeName = (typeof runtimes)[number]

/** `ours`: the adapter. `bare`: an echo by hand without any of its limits, the floor. */
export const sides = ["ours", "bare"] as const
export type Side = (typeof sides)[number]

/** One server. */
export interface Contender {
  readonly runtime: RuntimeName
  readonly kind: Kind
  readonly side: Side
}

/** All of them: Node has no server of its own for WebSockets. */
export const contenders: ReadonlyArray<Contender> = runtimes.flatMap((runtime) =>
  kinds
    .filter((kind) => kind === "ws" || runtime !== "node")
    .flatMap((kind) => sides.map((side) => ({ runtime, kind, side }))),
)

/** As it is called in reports. */
export const nameOf = ({ runtime, kind, side }: Contender): string => {
  const server = kind === "ws" ? `ws on ${runtime}` : runtime === "bun" ? "Bun.serve" : "Deno.serve"
  return side === "ours" ? server : `${server}, bare`
}
