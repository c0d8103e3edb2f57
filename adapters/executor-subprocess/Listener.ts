// Hears what a program says: lines for whoever watches, up to a limit, and what is kept of it for its outcome. However
// much it says, a few hundred KiB are held at most.
import type { Command } from "./Command.ts"
import { joined, type Line, Lines, Tail, textOf } from "./Lines.ts"
import type { Remains } from "./outcome.ts"

/** Hears a program. */
export interface Listener {
  readonly stdout: (chunk: Uint8Array) => void
  readonly stderr: (chunk: Uint8Array) => void
  /** To be called once, after its end; without success its last line is no output, and is logged. */
  readonly end: (isSuccess: boolean) => Pick<Remains, "lastLine" | "text" | "stderr">
}

/** The most of a line that is logged, in characters; that of the engine's own logs. */
export const lineMax = 2048
const stderrKept = 4096
const lastLineKept = 1024

/** A listener for one attempt at the command. `onFlood`: its output is too large, so what it still does is in vain. */
export const makeListener = (
  command: Command,
  log: (line: string) => void,
  onFlood: () => void,
): Listener => {
  const { output, outputMax, logMax } = command
  let left = logMax
  let isFull = false
  const tell = (line: string): void => {
    if (left > 0) log(line.slice(0, lineMax))
    else if (!isFull) {
      isFull = true
      if (logMax > 0) log(`More than ${logMax} lines: the rest is left out`)
    }
    left--
  }
  // The last line may be the output: each waits for the next one.
  let held: string | undefined
  const hold = ({ text }: Line): void => {
    if (text.trim() === "") return
    if (held !== undefined) tell(held)
    held = text
  }
  const out = new Lines(lineMax * 4, output === "json" ? hold : ({ text }) => tell(text))
  const err = new Lines(lineMax * 4, ({ text }) => tell(text))
  // With one byte more than is allowed, and the line break behind it, one sees what is too long.
  const outTail = new Tail(output === "json" ? outputMax + 4 : lastLineKept)
  const errTail = new Tail(stderrKept)
  const parts: Array<Uint8Array> = []
  let bytes = 0

  return {
    stdout: (chunk) => {
      outTail.push(chunk)
      if (output !== "text") {
        // Cutting a flood into lines that nobody sees would cost more than reading it.
        if (!isFull) out.push(chunk)
        return
      }
      if (bytes <= outputMax) parts.push(chunk.slice())
      bytes += chunk.length
      if (bytes > outputMax) onFlood()
    },
    stderr: (chunk) => {
      errTail.push(chunk)
      if (!isFull) err.push(chunk)
    },
    end: (isSuccess) => {
      if (output !== "text") out.end()
      if (held !== undefined && !isSuccess) tell(held)
      err.end()
      const text = bytes > outputMax ? null : textOf(joined(parts, bytes))
      return { lastLine: outTail.lastLine(), text, stderr: errTail.text() }
    },
  }
}
