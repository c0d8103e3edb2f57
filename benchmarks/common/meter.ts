// What a stretch of work took: time on the wall, and CPU time of the whole process with all its threads.

/** Milliseconds that were spent. */
export interface Spent {
  readonly wallMillis: number
  readonly cpuMillis: number
}

/** Starts measuring; each call of the returned function answers what was spent since. */
export const startMeter = (): (() => Spent) => {
  const wall = performance.now()
  const cpu = process.cpuUsage()
  return () => {
    const wallMillis = performance.now() - wall
    // Read in full and subtracted here: not every runtime takes the earlier value as an argument alike.
    const { user, system } = process.cpuUsage()
    return { wallMillis, cpuMillis: (user - cpu.user + system - cpu.system) / 1000 }
  }
}

/** Waits on the host's timer. */
export const sleep = (millis: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, millis)
  })

/** The promise's value, or an error that says what did not happen in time. */
export const within = async <A>(millis: number, what: string, promise: Promise<A>): Promise<A> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${millis} ms`)), millis)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
