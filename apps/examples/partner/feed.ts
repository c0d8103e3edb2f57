// A partner that uploads a file to us in parts, and goes on with the next part each time we ask. Until the last
// part has come, the file ends somewhere in the middle of a line.
import { readFile, writeFile } from "node:fs/promises"
import { dataFile } from "../files.ts"

/** How many parts the file comes in. */
export const parts = 3

/** The last line of a complete feed. */
export const endLine = "# end of feed"

/** Lets the partner upload parts 1 to `part` to the file `to`; answers how many bytes are there then. */
export const upload = async (to: string, part: number): Promise<number> => {
  const feed = new TextEncoder().encode(`${await readFile(dataFile("zone1970.tab"), "utf8")}${endLine}\n`)
  const arrived = feed.subarray(0, Math.floor((feed.length * Math.min(part, parts)) / parts))
  await writeFile(to, arrived)
  return arrived.length
}
