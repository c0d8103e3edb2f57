// The contract of a store under Bun's own runner: `bun test ./test/bun.ts`.
import { test } from "bun:test"
import { registerCases } from "uhrwerk/testing"
import { capabilities } from "../mod.ts"
import { open } from "./open.ts"

registerCases(test, capabilities.name, open, capabilities)
