// How the suites run: one config for Node, Bun and Deno. Suites with real processes (`test/chaos`) run one
// file at a time with long limits, everything else in parallel with short ones, so that a hang is a failure.
import { defineConfig } from "vitest/config"

const chaos = ["test/chaos/**/*.test.ts"]
const shared = { environment: "node", pool: "forks", restoreMocks: true } as const

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: "suite",
          include: ["test/**/*.test.ts"],
          exclude: chaos,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          name: "chaos",
          include: chaos,
          testTimeout: 240_000,
          hookTimeout: 60_000,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
