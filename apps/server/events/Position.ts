// Where a reader of the journal stands: after which event of which batch. Its text is the id of that event, so that a
// client that says the last id it saw goes on behind it. The mark is that of the batch: a position of another journal, as
// after a store was made anew, is found out instead of being taken for one of this.

/** A place behind an event. */
export interface Position {
  /** The number of the batch, from 1; 0 with index 0: before the first one. */
  readonly batch: number
  /** The place of the event in its batch, from 0. */
  readonly index: number
  /** 8 hex digits, made at random for each batch. */
  readonly mark: string
}

/** Before everything. */
export const origin: Position = { batch: 0, index: 0, mark: "00000000" }

/** Events in one batch. */
export const batchEventsMax = 500

const numberLength = 12
const indexLength = 3

/** The id of a batch's record: as numbers, so texts are in order. */
export const batchId = (batch: number): string => String(batch).padStart(numberLength, "0")

/** The id of an event. */
export const positionText = ({ batch, index, mark }: Position): string =>
  `${batchId(batch)}-${String(index).padStart(indexLength, "0")}-${mark}`

/** The position of a text; `undefined`: it is none. */
export const parsePosition = (text: string): Position | undefined => {
  const match = /^(\d{12})-(\d{3})-([\da-f]{8})$/.exec(text)
  if (match === null) return undefined
  const [, batch, index, mark = ""] = match
  return { batch: Number(batch), index: Number(index), mark }
}
