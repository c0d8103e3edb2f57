// The sides by name, in the order in which the first round measures them.
import type { SideModule } from "./Side.ts"

/** What is compared; ours over PostgreSQL is what the aims are about. */
export const sideNames = [
  "uhrwerk-postgres",
  "uhrwerk-sqlite",
  "graphile-worker",
  "pg-boss",
  "bullmq",
] as const

/** One of the sides. */
export type SideName = (typeof sideNames)[number]

/** Loads a side; what it needs of npm is loaded when it is opened. */
export const loadSide = async (name: SideName): Promise<SideModule> =>
  (await import(new URL(`sides/${name}.ts`, import.meta.url).href)) as SideModule
