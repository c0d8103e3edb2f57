// The plugin as an application has it: a package beside uhrwerk in a `node_modules` of its own, found by its name. What
// runs there can see public entries only.
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../../chaos/children.ts"

/** Lays the packages out in a folder. */
export const install = (folder: string): void => {
  const modules = join(folder, "node_modules")
  mkdirSync(modules)
  symlinkSync(root, join(modules, "uhrwerk"), "dir")
  for (const name of ["effect", "mysql2"])
    symlinkSync(join(root, "node_modules", name), join(modules, name), "dir")
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "application", type: "module" }))
  // Beside `node_modules`, and linked from there, as npm does with a folder: within, a runtime may refuse to strip types.
  cpSync(join(root, "plugins/store-mysql"), join(folder, "store-mysql"), { recursive: true })
  symlinkSync(join(folder, "store-mysql"), join(modules, "uhrwerk-store-mysql"), "dir")
}
