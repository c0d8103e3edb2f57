// A batch of the journal: events that a node wrote together, as the body of one record.
import { type CloudEvent, cloudEventOf, type Draft } from "./cloudEvents.ts"
import { type Position, positionText } from "./Position.ts"

/** The kind of its record. */
export const batchKind = "event"

/** A stored batch. */
export interface Batch {
  readonly number: number
  readonly mark: string
  readonly node: string
  /** Of the events of all batches up to this one, gone ones too: how much is kept is a difference. */
  readonly bytesUpTo: number
  readonly drafts: ReadonlyArray<Draft>
}

/** The events of the batch that was read in part, before those that follow. */
export const restOf = (own: Batch, after: Position, next: ReadonlyArray<Batch>): ReadonlyArray<Batch> =>
  after.index >= own.drafts.length - 1 ? next : [own, ...next]

/** A batch of its record. */
export const decodeBatch = ({ id, body }: { readonly id: string; readonly body: string }): Batch => ({
  ...(JSON.parse(body) as Omit<Batch, "number">),
  number: Number(id),
})

/** One event with its draft, and where a reader stands behind it. */
export interface Told {
  readonly draft: Draft
  readonly event: CloudEvent
  readonly position: Position
}

/** The events of batches that are after a position; of the batch in which it stands, only those behind it. */
export const eventsOf = (batches: ReadonlyArray<Batch>, after: Position): ReadonlyArray<Told> =>
  batches.flatMap(({ number, mark, node, drafts }) => {
    const seen = number === after.batch && mark === after.mark ? after.index + 1 : 0
    return drafts.slice(seen).map((draft, place) => {
      const position = { batch: number, index: seen + place, mark }
      return { draft, event: cloudEventOf(draft, positionText(position), node), position }
    })
  })
