// A promise with a limit of time: who waits for a store that says nothing gets an answer all the same.

/** What the work comes to, or a rejection with `late()` after so many milliseconds; the work itself goes on. */
export const inTime = <A>(work: Promise<A>, millis: number, late: () => Error): Promise<A> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), millis)
    void work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
