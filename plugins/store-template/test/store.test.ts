// The contract of a store under vitest: `npx vitest run`.
import { test } from "vitest"
import { registerCases } from "uhrwerk/testing"
import { capabilities, templateDriver } from "../mod.ts"

registerCases(test, capabilities.name, (now) => templateDriver({ now }), capabilities)
