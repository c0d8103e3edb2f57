// Memory for a timing wheel that grows in place, so that no call pays for a copy of millions of records: a WebAssembly
// memory without any WebAssembly. Growing by copy takes 60 to 240 ms at four million timers, this 1 to 2 ms.
import { type Arena, makeCopyingArena } from "../../core/wheel/Arena.ts"

const pageBytes = 65_536
// The most a wheel asks for: 2^24 records of 20 bytes.
const pagesMax = (2 ** 24 * 20) / pageBytes

/**
 * Makes an arena that grows in place; where the host has no WebAssembly or refuses the address space, one that copies.
 * Its memory is the process's until the wheel is garbage.
 */
export const makeWasmArena = (): Arena => {
  const memory = makeMemory()
  if (memory === undefined) return makeCopyingArena()
  return (words) => {
    const pages = Math.ceil((words * 4) / pageBytes)
    const missing = pages - memory.buffer.byteLength / pageBytes
    // It throws a RangeError when there is no more; what was there stays as it was.
    if (missing > 0) memory.grow(missing)
    return new Int32Array(memory.buffer, 0, words)
  }
}

const makeMemory = (): WebAssembly.Memory | undefined => {
  try {
    return new WebAssembly.Memory({ initial: 0, maximum: pagesMax })
  } catch {
    return undefined
  }
}
