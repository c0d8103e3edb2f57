// Definitions of flows: written once for each name and version, and read and checked once while a session needs them.
import { and, eq, sql } from "drizzle-orm"
import type { Expansion, FlowDefinition, StepJob } from "../../core/domain/Flow.ts"
import { graphOf } from "../../core/flow/Advance.ts"
import type { Graph } from "../../core/flow/Graph.ts"
import type { Database } from "./Database.ts"
import { definitions } from "./schema.ts"
import { at, build, prepare, type Row } from "./Statement.ts"

/** What steps run by. */
export interface Plan {
  readonly graph: Graph
  /** What the steps need is in the graph only. Of a list, the items may be left out: all runs are made at once. */
  readonly expansion: Expansion
}

/** How an expansion's row names its plan. */
export interface PlanKey {
  readonly definitionId: number | null
  readonly list: string | null
  readonly size: number
}

interface Cached {
  /** A definition that was pruned may leave its id to another one. */
  readonly named: string
  readonly plan: Plan
  readonly bytes: number
}

// About what a step and an edge take, and how much all cached plans together may.
const stepBytes = 256
const edgeBytes = 8
const cacheBytesMax = 64 * 2 ** 20

/** Definitions in the file, and the plans that are made of them, of which at most about `bytesMax` are kept. */
export const makeDefinitions = (database: Database, bytesMax = cacheBytesMax) => {
  const byVersion = prepare(
    database,
    build
      .select({ id: definitions.id })
      .from(definitions)
      .where(and(eq(definitions.name, at("name")), eq(definitions.version, at("version")))),
  )
  const insert = prepare(
    database,
    sql`insert into definitions (name, version, definition) values (${at("name")}, ${at("version")},
      ${at("definition")}) returning id`,
  )
  const byId = prepare(
    database,
    build
      .select({ definition: definitions.definition })
      .from(definitions)
      .where(eq(definitions.id, at("id"))),
  )
  const forget = prepare(
    database,
    sql`delete from definitions where id = ${at("id")}
      and not exists (select 1 from expansions where definition_id = ${at("id")} and definition_id is not null)`,
  )

  // The one that was used last is the last.
  const cache = new Map<string, Cached>()
  let bytes = 0
  const drop = (key: string): void => {
    bytes -= cache.get(key)?.bytes ?? 0
    cache.delete(key)
  }
  const keep = (key: string, named: string, plan: Plan): Plan => {
    drop(key)
    const size = (plan.graph.size + 1) * stepBytes + plan.graph.needs.targets.length * edgeBytes
    for (const oldest of cache.keys()) {
      if (bytes + size <= bytesMax) break
      drop(oldest)
    }
    cache.set(key, { named, plan, bytes: size })
    bytes += size
    return plan
  }
  const cached = (key: string, named: string): Plan | undefined => {
    const entry = cache.get(key)
    if (entry === undefined || entry.named !== named) return undefined
    cache.delete(key)
    cache.set(key, entry)
    return entry.plan
  }

  const definitionOf = (id: number): FlowDefinition =>
    JSON.parse(byId.get({ id })?.["definition"] as string) as FlowDefinition

  /** The plan of an expansion, whose row names `name` and `version` of its definition. */
  const planOf = ({ definitionId, list, size }: PlanKey, row: Row): Plan => {
    if (definitionId === null) {
      const shape: Expansion = { kind: "map", ...listOf(list), items: [] }
      const key = `list ${size}`
      const graph =
        cached(key, "")?.graph ??
        keep(key, "", { expansion: shape, graph: graphOf({ ...shape, items: Array(size).fill(null) }) }).graph
      return { expansion: shape, graph }
    }
    const key = `flow ${definitionId}`
    const named = nameOf(row["name"] as string, row["version"] as string)
    return cached(key, named) ?? keep(key, named, flowPlan(definitionOf(definitionId)))
  }

  return {
    planOf,
    definitionOf,
    /** Enters what steps are to run by, once for each name and version; throws a refusal when nothing can run by it. */
    enter: (expansion: Expansion): { readonly key: PlanKey; readonly plan: Plan } => {
      if (expansion.kind === "map") {
        const { step, failFast, items } = expansion
        const list = JSON.stringify({ step, failFast })
        const key = { definitionId: null, list, size: items.length }
        return { key, plan: { expansion, graph: graphOf(expansion) } }
      }
      const { name, version } = expansion.definition
      const row = byVersion.get({ name, version })
      if (row !== undefined) {
        const definitionId = row["id"] as number
        const plan = planOf({ definitionId, list: null, size: 0 }, { name, version })
        return { key: { definitionId, list: null, size: plan.graph.size }, plan }
      }
      const plan = flowPlan(expansion.definition)
      const definition = JSON.stringify(expansion.definition)
      const definitionId = insert.get({ name, version, definition })?.["id"] as number
      keep(`flow ${definitionId}`, nameOf(name, version), plan)
      return { key: { definitionId, list: null, size: plan.graph.size }, plan }
    },
    /** Removes a definition that no expansion has any more. */
    forget: (id: number): void => void forget.run({ id }),
  }
}

const nameOf = (name: string, version: string): string => JSON.stringify([name, version])

const listOf = (list: string | null) => JSON.parse(list ?? "{}") as { step: StepJob; failFast: boolean }

const flowPlan = (definition: FlowDefinition): Plan => {
  const steps = definition.steps.map((step) => ({ ...step, needs: [] }))
  return {
    graph: graphOf({ kind: "flow", definition }),
    expansion: { kind: "flow", definition: { ...definition, steps } },
  }
}
