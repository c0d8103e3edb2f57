// The text format of Prometheus, version 0.0.4: families with help and type, one sample a line.

/** Labels of a sample, in the order in which they are written. */
export type Labels = Readonly<Record<string, string>>

/** Metrics of one name. */
export interface Family {
  readonly name: string
  readonly type: "counter" | "gauge" | "histogram"
  readonly help: string
  readonly samples: ReadonlyArray<{
    readonly suffix?: string
    readonly labels: Labels
    readonly value: number
  }>
}

/** The content type of the format. */
export const metricsType = "text/plain; version=0.0.4; charset=utf-8"

/** Families as text; those without a sample are left out. */
export const metricsText = (families: ReadonlyArray<Family>): string =>
  families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, type, help, samples }) => {
      const head = `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${type}\n`
      const lines = samples.map(
        ({ suffix = "", labels, value }) => `${name}${suffix}${written(labels)} ${value}\n`,
      )
      return head + lines.join("")
    })
    .join("")

const written = (labels: Labels): string => {
  const entries = Object.entries(labels)
  return entries.length === 0
    ? ""
    : `{${entries.map(([name, value]) => `${name}="${escaped(value)}"`).join(",")}}`
}

const escaped = (value: string): string =>
  value.toWellFormed().replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')
