// Who may be given what: workers and jobs joined to groups, each of which is one claim. In a group every worker may be
// given every job from every queue, so whatever a claim brings finds a place. Pure.

/** What one worker can be given: it has a handler and fits the job's placement; its queues are those of its token. */
export interface Offer {
  readonly name: string
  readonly jobs: ReadonlyArray<string>
  readonly queues: ReadonlyArray<string>
}

/** Jobs and queues that the same workers take. */
export interface Group {
  readonly jobs: ReadonlyArray<string>
  readonly queues: ReadonlyArray<string>
  readonly workers: ReadonlyArray<string>
}

/**
 * The groups of these offers: no job of a queue is in two of them, so runs are spread over all who may have them. Workers
 * with the same offer count as one on the way, and mostly all have the same: then it is one group.
 */
export const groupsOf = (offers: ReadonlyArray<Offer>): ReadonlyArray<Group> => {
  const classes = new Map<string, { readonly offer: Offer; readonly names: Array<string> }>()
  for (const offer of offers) {
    const key = JSON.stringify([offer.jobs.toSorted(), offer.queues.toSorted()])
    const found = classes.get(key)
    if (found === undefined) classes.set(key, { offer, names: [offer.name] })
    else found.names.push(offer.name)
  }
  const takers = new Map<string, Map<string, Array<number>>>()
  const members = [...classes.values()]
  for (const [index, { offer }] of members.entries()) {
    for (const queue of new Set(offer.queues)) {
      const ofQueue = takers.get(queue) ?? new Map<string, Array<number>>()
      takers.set(queue, ofQueue)
      for (const job of new Set(offer.jobs)) {
        const found = ofQueue.get(job)
        if (found === undefined) ofQueue.set(job, [index])
        else found.push(index)
      }
    }
  }
  const groups = new Map<string, { jobs: Array<string>; queues: Array<string>; who: ReadonlyArray<number> }>()
  for (const [queue, ofQueue] of takers) {
    for (const { jobs, who } of bySameTakers(ofQueue)) {
      const key = JSON.stringify([jobs, who])
      const found = groups.get(key)
      if (found === undefined) groups.set(key, { jobs, queues: [queue], who })
      else found.queues.push(queue)
    }
  }
  return [...groups.values()].map(({ jobs, queues, who }) => ({
    jobs,
    queues,
    workers: who.flatMap((index) => members[index]?.names ?? []),
  }))
}

const bySameTakers = (
  jobs: ReadonlyMap<string, ReadonlyArray<number>>,
): ReadonlyArray<{ readonly jobs: Array<string>; readonly who: ReadonlyArray<number> }> => {
  const found = new Map<string, { readonly jobs: Array<string>; readonly who: ReadonlyArray<number> }>()
  for (const [job, who] of jobs) {
    const entry = found.get(who.join(" "))
    if (entry === undefined) found.set(who.join(" "), { jobs: [job], who })
    else entry.jobs.push(job)
  }
  for (const { jobs: names } of found.values()) names.sort()
  return [...found.values()]
}
