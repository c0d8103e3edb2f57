// The loops as a module of one contender's own: the query makes another module of the same file. In a shared one the
// calls to all contenders would meet in the same places, and no compiler could put any of them into the loop.

/** What `loops.ts` exports, compiled for whoever has this name. */
export const ownLoops = async (name: string): Promise<typeof import("./loops.ts")> =>
  import(new URL(`./loops.ts?${name}`, import.meta.url).href)
