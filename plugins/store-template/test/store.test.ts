// The contract of a store under vitest: `npx vitest run`.
import { test } from "vitest"
import { registerCases } from "uhrwerk/testing"
import { capabilities } from "../mod.ts"
import { open } from "./open.ts"

registerCases(test, capabilities.name, open, capabilities)
