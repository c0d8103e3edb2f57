// Definitions of flows: stored once for each name and version, and read and checked once while an open store needs
// them. The one thing here that outlives a transaction.
import type { Expansion, FlowDefinition, StepJob } from "../../core/domain/Flow.ts"
import { graphOf } from "../../core/flow/Advance.ts"
import type { Graph } from "../../core/flow/Graph.ts"
import { done, type Sql, wait } from "./Sql.ts"
import type { ExpansionRow, FlowTable } from "./Tables.ts"

/** What steps run by. */
export interface Plan {
  readonly graph: Graph
  /** What the steps need is in the graph only. Of a list, the items may be left out: all runs are made at once. */
  readonly expansion: Expansion
}

/** How an expansion's row names its plan. */
export type PlanKey = Pick<ExpansionRow, "definitionId" | "list" | "size">

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

/** The plans of an open store's flows, of which at most about `bytesMax` are kept. */
export class Definitions {
  private readonly bytesMax: number
  // The one that was used last is the last.
  private readonly cache = new Map<string, Cached>()
  private bytes = 0

  constructor(bytesMax = cacheBytesMax) {
    this.bytesMax = bytesMax
  }

  /** The plan of an expansion, whose row names `name` and `version` of its definition. */
  planOf(table: FlowTable, row: PlanKey & Pick<ExpansionRow, "name" | "version">): Sql<Plan> {
    const { definitionId, list, size } = row
    if (definitionId === null) return done(this.listPlan(list, size))
    const known = this.cached(`flow ${definitionId}`, namedBy(row))
    return known === undefined ? this.read(table, definitionId, namedBy(row)) : done(known)
  }

  private listPlan(list: string | null, size: number): Plan {
    const shape: Expansion = { kind: "map", ...listOf(list), items: [] }
    const key = `list ${size}`
    const known = this.cached(key, "")?.graph
    if (known !== undefined) return { expansion: shape, graph: known }
    const graph = graphOf({ ...shape, items: Array(size).fill(null) })
    return this.keep(key, "", { expansion: shape, graph })
  }

  private *read(table: FlowTable, id: number, named: string): Sql<Plan> {
    return this.keep(`flow ${id}`, named, flowPlan(yield* definitionOf(table, id)))
  }

  /** Enters what steps are to run by, once for each name and version; throws a refusal when nothing can run by it. */
  *enter(table: FlowTable, expansion: Expansion): Sql<{ readonly key: PlanKey; readonly plan: Plan }> {
    if (expansion.kind === "map") {
      const { step, failFast, items } = expansion
      const list = JSON.stringify({ step, failFast })
      const key = { definitionId: null, list, size: items.length }
      return { key, plan: { expansion, graph: graphOf(expansion) } }
    }
    const { name, version } = expansion.definition
    const known = yield* wait(table.definitionId(name, version))
    if (known !== undefined) {
      const plan = yield* this.planOf(table, { definitionId: known, list: null, size: 0, name, version })
      return { key: { definitionId: known, list: null, size: plan.graph.size }, plan }
    }
    const plan = flowPlan(expansion.definition)
    const text = JSON.stringify(expansion.definition)
    const definitionId = yield* wait(table.insertDefinition(name, version, text))
    this.keep(`flow ${definitionId}`, namedBy({ name, version }), plan)
    return { key: { definitionId, list: null, size: plan.graph.size }, plan }
  }

  private drop(key: string): void {
    this.bytes -= this.cache.get(key)?.bytes ?? 0
    this.cache.delete(key)
  }

  private keep(key: string, named: string, plan: Plan): Plan {
    this.drop(key)
    const bytes = (plan.graph.size + 1) * stepBytes + plan.graph.needs.targets.length * edgeBytes
    for (const oldest of this.cache.keys()) {
      if (this.bytes + bytes <= this.bytesMax) break
      this.drop(oldest)
    }
    this.cache.set(key, { named, plan, bytes })
    this.bytes += bytes
    return plan
  }

  private cached(key: string, named: string): Plan | undefined {
    const entry = this.cache.get(key)
    if (entry === undefined || entry.named !== named) return undefined
    this.cache.delete(key)
    this.cache.set(key, entry)
    return entry.plan
  }
}

/** A stored definition, as it was given. */
export function* definitionOf(table: FlowTable, id: number): Sql<FlowDefinition> {
  return JSON.parse(yield* wait(table.definition(id))) as FlowDefinition
}

const namedBy = ({ name, version }: Pick<ExpansionRow, "name" | "version">): string =>
  JSON.stringify([name, version])

const listOf = (list: string | null) => JSON.parse(list ?? "{}") as { step: StepJob; failFast: boolean }

const flowPlan = (definition: FlowDefinition): Plan => {
  const steps = definition.steps.map((step) => ({ ...step, needs: [] }))
  return {
    graph: graphOf({ kind: "flow", definition }),
    expansion: { kind: "flow", definition: { ...definition, steps } },
  }
}
