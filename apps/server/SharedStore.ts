// The store of a server, opened once: for its engine, for its API and its tokens, and for the question whether it answers.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { NodeStore, StoreInfo } from "../../core/ports/Store.ts"
import type { NodeWorkers } from "../../core/ports/StoreDriver.ts"
import type { Project } from "../sdk/config.ts"
import type { AskedStore } from "./api/ApiParts.ts"
import { askedStore } from "./api/askedStore.ts"
import { inTime } from "./inTime.ts"
import { observed, type StoreListener } from "./observedStore.ts"

/** An open store. */
export interface SharedStore {
  /** The project, whose engine takes this store instead of opening one. */
  readonly project: Project
  /** Whoever runs the server, and its API, ask it beside the engine. */
  readonly store: AskedStore
  /** The nodes whose leases hold, with what each said last of its workers. */
  readonly reports: () => Promise<ReadonlyArray<NodeWorkers>>
  /** Whether it answers within a second. Whoever asks at about the same time gets the same answer. */
  readonly answers: () => Promise<boolean>
  /** Tells of operations, the engine's too, when they have ended. */
  readonly observe: (listener: StoreListener) => void
  readonly close: () => Promise<void>
}

const answerMillisMax = 1_000
// Anybody may ask, as often as he likes.
const sameAnswerMillis = 500

/** Opens a project's store; rejects as its storage does. */
export const openSharedStore = async (project: Project): Promise<SharedStore> => {
  const runtime = ManagedRuntime.make(project.storage.layer)
  const opened = await runtime.context().catch(async (error: unknown) => {
    await runtime.dispose()
    throw error
  })
  let listener: StoreListener | undefined
  const context = observed(opened, () => listener)
  const nodes = Context.get(context, NodeStore)
  const now = (): Promise<number> => Effect.runPromise(Context.get(context, StoreInfo).now)
  let asked: { readonly at: number; readonly answer: Promise<boolean> } | undefined
  const ask = (): Promise<boolean> =>
    inTime(now(), answerMillisMax, () => new Error("no answer")).then(
      () => true,
      () => false,
    )
  return {
    project: { ...project, storage: { ...project.storage, layer: Layer.succeedContext(context) } },
    store: askedStore(context),
    reports: async () => {
      const [at, rows, reports] = [
        await now(),
        await Effect.runPromise(nodes.nodes()),
        await Effect.runPromise(nodes.workers()),
      ]
      const live = new Set(rows.filter(({ expiresAt }) => expiresAt > at).map(({ id }) => id))
      return reports.filter(({ node }) => live.has(node))
    },
    answers: () => {
      const at = performance.now()
      if (asked === undefined || at - asked.at > sameAnswerMillis) asked = { at, answer: ask() }
      return asked.answer
    },
    observe: (given) => {
      listener = given
    },
    close: () => runtime.dispose(),
  }
}
