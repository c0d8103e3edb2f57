// Bytes of a process -> lines of text, with a bound on what is kept of a line, however long it is. Characters that
// are cut by the edge of a chunk are put together; what is no UTF-8 becomes U+FFFD.
import { utf8Length } from "../../core/domain/Payload.ts"

/** A line as it was read; `isCut` when it was longer than what is kept. */
export interface Line {
  readonly text: string
  readonly isCut: boolean
}

/** Whether a line is more than an output may take, in bytes. */
export const isTooLong = ({ text, isCut }: Line, bytesMax: number): boolean =>
  isCut || utf8Length(text) > bytesMax

/** Splits what it is given into lines, each at most `bytesMax` bytes of UTF-8. */
export class Lines {
  readonly #each: (line: Line) => void
  readonly #bytesMax: number
  readonly #parts: Array<Uint8Array> = []
  #bytes = 0
  #isCut = false

  constructor(bytesMax: number, each: (line: Line) => void) {
    this.#bytesMax = bytesMax
    this.#each = each
  }

  push(chunk: Uint8Array): void {
    let from = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      this.#keep(chunk.subarray(from, end))
      this.#finish()
      from = end + 1
    }
    this.#keep(chunk.subarray(from))
  }

  /** What comes after the last line break is a line too, unless it is nothing. */
  end(): void {
    if (this.#bytes > 0) this.#finish()
  }

  #keep(part: Uint8Array): void {
    const free = this.#bytesMax - this.#bytes
    if (part.length > free) this.#isCut = true
    if (part.length === 0 || free === 0) return
    // A copy: the chunk is the runtime's, which may write into it again.
    const kept = part.slice(0, free)
    this.#parts.push(kept)
    this.#bytes += kept.length
  }

  #finish(): void {
    const text = decoder.decode(joined(this.#parts, this.#bytes)).replace(/\r$/, "")
    const isCut = this.#isCut
    this.#parts.length = 0
    this.#bytes = 0
    this.#isCut = false
    this.#each({ text, isCut })
  }
}

/** The last bytes of what it is given: all of it, or a little more than `bytesMax`. */
export class Tail {
  readonly #bytesMax: number
  readonly #parts: Array<Uint8Array> = []
  #bytes = 0
  #isCut = false

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  push(chunk: Uint8Array): void {
    const part = chunk.slice(-this.#bytesMax)
    if (part.length < chunk.length) this.#isCut = true
    this.#parts.push(part)
    this.#bytes += part.length
    for (let head = this.#parts[0]; head !== undefined; head = this.#parts[0]) {
      if (this.#bytes - head.length < this.#bytesMax) break
      this.#parts.shift()
      this.#bytes -= head.length
      this.#isCut = true
    }
  }

  text(): string {
    return textOf(joined(this.#parts, this.#bytes))
  }

  /** The last line that is not blank, `null` when there is none; `isCut` when its beginning is not kept. */
  lastLine(): Line | null {
    const text = this.text().trimEnd()
    const from = text.lastIndexOf("\n")
    if (text === "" && !this.#isCut) return null
    return { text: text.slice(from + 1).trim(), isCut: from === -1 && this.#isCut }
  }
}

/** One array of several, which are `length` bytes in all. */
export const joined = (parts: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  const all = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** The text of bytes in UTF-8. */
export const textOf = (bytes: Uint8Array): string => decoder.decode(bytes)

const newline = 10
// Also without a mark at the beginning, which is no text.
const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: false })
