// The contract of a store under Deno's own runner, which knows `node:test`: `deno test -A test/deno.ts`.
import { test } from "node:test"
import { registerCases } from "uhrwerk/testing"
import { capabilities } from "../mod.ts"
import { open } from "./open.ts"

registerCases(test, capabilities.name, open, capabilities)
