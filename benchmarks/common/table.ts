// Plain text tables for a terminal.

/** Rows of cells as aligned lines: the first column to the left, all others to the right. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths: Array<number> = []
  for (const row of rows) row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, cell.length)))
  return rows
    .map((row) =>
      row
        .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}

/** A number for people: thousands apart, and no more digits than it has meaning. */
export const figure = (value: number, digits = value >= 1000 ? 0 : value >= 10 ? 1 : 2): string =>
  Number.isNaN(value)
    ? "-"
    : value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
