// How the suites run: one config for Node, Bun and Deno. Suites with real processes (`test/chaos`) run one
// file at a time with long limits, everything else in parallel with short ones, so that a hang is a failure.
import { readFileSync } from "node:fs"
import { defineConfig } from "vitest/config"

// A plugin names the entries as it will outside, and is another package than the one whose own name resolves by itself.
const { exports } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as {
  readonly exports: Readonly<Record<string, string>>
}
const alias = Object.entries(exports).map(([name, file]) => ({
  find: new RegExp(`^uhrwerk${name.slice(1)}$`),
  replacement: new URL(file, import.meta.url).pathname,
}))

const chaos = ["test/chaos/**/*.test.ts"]
const shared = { environment: "node", pool: "forks", restoreMocks: true } as const

export default defineConfig({
  resolve: { alias },
  test: {
    projects: [
      {
        extends: true,
        test: {
          ...shared,
          name: "suite",
          include: ["test/**/*.test.ts", "plugins/*/test/**/*.test.ts"],
          exclude: chaos,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
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
