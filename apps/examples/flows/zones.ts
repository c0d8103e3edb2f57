// A flow: the table of time zones is read, worked out and written as pages. Its steps show a join (`report`), a
// condition (`unknown`), a list that is mapped (`pages`) and a failure that is allowed (`compare`).
import { readFile } from "node:fs/promises"
import { every, flow, NonRetryable } from "uhrwerk"
import { dataFile, figure, outputFile, readJson, writeWhole } from "../files.ts"
import { welcomeLater } from "../jobs/welcomeLater.ts"
import { CorruptLine, parseZones, type Zone } from "../zones/ZoneFile.ts"
import { continentPage, zoneReport } from "../zones/zoneReport.ts"
import { type ZoneTable, zoneTable } from "../zones/ZoneTable.ts"

const source = "zone1970.tab"
const copy = "zones-damaged.tab"
const timeout = "30s"

const read = async (name: string): Promise<Array<Zone>> => {
  const text = await readFile(dataFile(name), "utf8")
  try {
    return parseZones(name, text)
  } catch (error) {
    // The file will be as wrong at the next attempt.
    if (error instanceof CorruptLine) throw new NonRetryable(error.message, { cause: error })
    throw error
  }
}

export const zones = flow("zones", { on: every("10m"), timeout: "5m" }, (f) => {
  const zonesRead = f.step("read", {
    timeout,
    run: async (_, ctx) => {
      const found = await read(source)
      const file = await outputFile("zones.json")
      const bytes = await writeWhole(file, JSON.stringify(found))
      ctx.log(`${found.length} zones read from ${source}, ${figure(bytes)} bytes of JSON written`)
      // Outputs are kept in the database, 256 KiB at most: data goes into a file, and where it is into the output.
      return { source, file, bytes, zones: found.length }
    },
  })

  // The copy is damaged, so this step fails each time, and the flow run does not.
  const compare = f.step("compare", {
    needs: { original: zonesRead },
    allowFailure: true,
    timeout,
    run: async ({ original }) => ({ missing: original.zones - (await read(copy)).length }),
  })

  const table = f.step("table", {
    needs: { read: zonesRead },
    timeout,
    run: async (needs, ctx) => {
      const made = zoneTable(await readJson<Array<Zone>>(needs.read.file), new Date())
      const file = await outputFile("zone-table.json")
      const bytes = await writeWhole(file, JSON.stringify(made))
      const { perContinent, perCountry, perOffset } = made
      const unknown = made.zones.filter(({ offset }) => offset === null).map(({ name }) => name)
      ctx.log(
        `${made.zones.length} zones in ${perCountry.length} countries, ${perOffset.length} offsets from UTC`,
      )
      return {
        file,
        bytes,
        zones: made.zones.length,
        countries: perCountry.length,
        continents: perContinent.map(([name]) => name),
        unknown,
      }
    },
  })

  // Skipped where the runtime knows all zones, as most do.
  f.step("unknown", {
    needs: { table },
    when: (needs) => needs.table.unknown.length > 0,
    run: (needs, ctx) => {
      ctx.log(`this runtime does not know ${needs.table.unknown.join(", ")}`)
    },
  })

  // One run for each continent.
  const pages = f.map("pages", {
    needs: { table },
    over: (needs) => needs.table.continents.map((continent) => ({ continent, file: needs.table.file })),
    timeout,
    run: async ({ continent, file }) => {
      const path = await outputFile(`zones-${continent}.md`)
      const bytes = await writeWhole(path, continentPage(await readJson<ZoneTable>(file), continent))
      return { continent, path, bytes }
    },
  })

  const report = f.step("report", {
    needs: { table, pages },
    timeout,
    run: async (needs, ctx) => {
      const path = await outputFile("zones.md")
      const bytes = await writeWhole(path, zoneReport(await readJson<ZoneTable>(needs.table.file)))
      ctx.log(
        `${path}: ${needs.table.zones} zones, ${figure(bytes)} bytes, beside ${needs.pages.length} of continents`,
      )
      return { path, bytes, zones: needs.table.zones, pages: needs.pages.length }
    },
  })

  // Runs however the comparison ended; with nothing to welcome to, it does not.
  return f.step("welcome", {
    needs: { report, compare },
    rule: "all_done",
    when: (needs) => needs.report !== undefined,
    run: async ({ report: written }, ctx) => {
      if (written === undefined) throw new NonRetryable("There is no report")
      ctx.log(`the comparison with ${copy} ${ctx.states.compare}`)
      // The key keeps it to one waiting run, also when this attempt is repeated after a crash.
      const input = { report: written.path, zones: written.zones }
      const later = await welcomeLater.send(input, { delay: "3s", key: "welcome" })
      return { ...written, compared: ctx.states.compare, welcome: later.id }
    },
  })
})
