// SIGINT and SIGTERM of a command that works until it is told to stop: the first one asks for an end, the second one ends.

/** An end that is asked for. */
export interface Stop {
  readonly asked: Promise<void>
  /** Asks by itself, as a first signal does. */
  readonly ask: () => void
  /** Listens to signals no more. */
  readonly done: () => void
}

// npm and the terminal both pass a Ctrl-C on, so one press may arrive twice.
const samePressMillis = 300

/** Listens to signals; `atOnce` is said when a second one ends the process. */
export const signals = (atOnce: string): Stop => {
  let first: number | undefined
  let ask = () => {}
  const asked = new Promise<void>((resolve) => {
    ask = resolve
  })
  const names = ["SIGINT", "SIGTERM"] as const
  const hear = names.map((name) => (): void => {
    if (first === undefined) {
      first = Date.now()
      ask()
    } else if (Date.now() - first > samePressMillis) {
      console.log(atOnce)
      process.exit(name === "SIGINT" ? 130 : 143)
    }
  })
  names.forEach((name, index) => process.on(name, hear[index] as () => void))
  return {
    asked,
    ask: () => ask(),
    done: () => names.forEach((name, index) => process.off(name, hear[index] as () => void)),
  }
}
