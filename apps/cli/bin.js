#!/usr/bin/env node
// The launcher: plain JavaScript, so that an old runtime says what it lacks instead of a syntax error.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
const isNode = process.versions.bun === undefined && process.versions.deno === undefined
if (isNode && (major < 22 || (major === 22 && minor < 19))) {
  console.error(`uhrwerk needs Node 22.19 or newer, Bun or Deno; this is Node ${process.versions.node}.`)
  process.exit(1)
}
const { mainAndExit } = await import("./main.ts")
await mainAndExit(process.argv.slice(2))
