// The files of a new project, by runtime and template: as little as runs and shows the way on.

/** Whose project it is. */
export const initRuntimes = ["node", "bun", "deno"] as const
/** What it begins with. */
export const initTemplates = ["basic", "flow"] as const

/** What to make. */
export interface InitOptions {
  readonly name: string
  readonly runtime: (typeof initRuntimes)[number]
  readonly template: (typeof initTemplates)[number]
  readonly version: string
}

/** Paths and texts. */
export const initFiles = (options: InitOptions): ReadonlyMap<string, string> =>
  new Map([
    ["uhrwerk.config.ts", configs[options.template]],
    [".gitignore", "node_modules\n*.db\n*.db-*\n"],
    ["README.md", readme(options)],
    ...manifests(options),
  ])

/** How its commands are called. */
export const commandOf = (runtime: InitOptions["runtime"]): string =>
  ({ node: "npx uhrwerk", bun: "bunx --bun uhrwerk", deno: "deno task uhrwerk" })[runtime]

/** How what it needs is fetched. */
export const installOf = (runtime: InitOptions["runtime"]): string =>
  ({ node: "npm install", bun: "bun install", deno: "deno install" })[runtime]

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const manifests = ({ name, runtime, version }: InitOptions): ReadonlyArray<readonly [string, string]> => {
  // Anything more would have to be kept up to date by whoever owns the project.
  const compilerOptions = {
    target: "ES2024",
    module: "NodeNext",
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  }
  if (runtime === "deno")
    return [
      [
        "deno.json",
        json({
          imports: { uhrwerk: `npm:uhrwerk@${version}`, "uhrwerk/": `npm:/uhrwerk@${version}/` },
          tasks: { uhrwerk: "deno run -A npm:uhrwerk", dev: "deno run -A npm:uhrwerk dev" },
        }),
      ],
    ]
  const start = runtime === "bun" ? "bunx --bun uhrwerk" : "uhrwerk"
  return [
    [
      "package.json",
      json({
        name,
        private: true,
        type: "module",
        scripts: { dev: `${start} dev`, serve: `${start} serve` },
        dependencies: { uhrwerk: version },
      }),
    ],
    ["tsconfig.json", json({ compilerOptions, include: ["*.ts"] })],
  ]
}

const readme = ({ name, runtime }: InitOptions): string => {
  const command = commandOf(runtime)
  return `# ${name}

Jobs for [Uhrwerk](https://www.npmjs.com/package/uhrwerk), in \`uhrwerk.config.ts\`.

\`\`\`sh
${installOf(runtime)}
${command} dev                        # engine and worker in one process; Ctrl-C drains
${command} run list                   # from another terminal
${command} dev --fast-forward 7d      # what it will start, without doing it
\`\`\`
`
}

const configs: Readonly<Record<InitOptions["template"], string>> = {
  basic: `// The jobs of this project. \`uhrwerk dev\` runs them.
import { cron, defineConfig, every, job } from "uhrwerk"

/** Every ten seconds, so that there is something to see. */
export const tick = job("tick", {
  on: every("10s"),
  run: (_input, ctx) => {
    ctx.log(\`attempt \${ctx.run.attempt}\`)
    return { at: new Date().toISOString() }
  },
})

/** On working days at nine, on the clocks of a zone. */
export const report = job("report.daily", {
  on: cron("0 9 * * 1-5", { tz: "Europe/Berlin" }),
  retry: { max: 5, delay: "10s" },
  timeout: "1m",
  run: async () => {
    // The work.
  },
})

export default defineConfig({
  jobs: [tick, report],
  storage: "sqlite:uhrwerk.db",
})
`,
  flow: `// A flow of this project. \`uhrwerk dev\` runs it.
import { defineConfig, every, flow } from "uhrwerk"

/** Three steps, of which each reads what the one before returned. */
export const etl = flow("etl", { on: every("1m") }, (f) => {
  const extract = f.step("extract", { run: () => ({ rows: 10 }) })
  const transform = f.step("transform", {
    needs: { extract },
    run: ({ extract }) => ({ rows: extract.rows * 2 }),
  })
  f.step("load", { needs: { transform }, run: ({ transform }) => ({ loaded: transform.rows }) })
})

export default defineConfig({
  jobs: [etl],
  storage: "sqlite:uhrwerk.db",
})
`,
}
