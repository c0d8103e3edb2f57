// Which of the three runtimes this is, for people and for the node's row.

/** The runtime with its version, such as `node 24.21.0`. */
export const runtimeName = (): string => {
  const { bun, deno, node } = process.versions as Readonly<Record<string, string | undefined>>
  if (bun !== undefined) return `bun ${bun}`
  return deno === undefined ? `node ${node}` : `deno ${deno}`
}
