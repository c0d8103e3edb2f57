// kill -9 of an engine over SQLite at random moments, again and again, each time in the middle of work; the next life
// starts at once over the same file. Afterwards a checker that sees only what was left behind judges it.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { randomOf } from "../common/random.ts"
import { check } from "./checker.ts"
import { inFolder, pause, type RuntimeName } from "./children.ts"
import { type Evidence, readEvidence } from "./evidence.ts"

/** What came of it. */
export interface SqliteReport {
  /** One line for people. */
  readonly text: string
  readonly violations: ReadonlyArray<string>
  readonly evidence: Evidence
}

/** Kills so many lives while a client sends so many runs; rejects when a life does not do what it is told. */
export const killAgainAndAgain = async (
  runtime: RuntimeName,
  { kills, runs: total, seed }: { readonly kills: number; readonly runs: number; readonly seed: number },
): Promise<SqliteReport> => {
  const ended: { report?: SqliteReport } = {}
  await inFolder(async (folder, startChild) => {
    const random = randomOf(seed)
    const moments: Array<string> = []
    // Two of the lives end in the moment of an acknowledgement, by their own hand.
    const endsItself = (life: number): boolean => life < kills && (life === 1 || life === 3)
    const prepare = (life: number) => {
      const acks = endsItself(life) ? 1 + Math.floor(random() * 40) : 0
      const args = ["test/chaos/engine.child.ts", folder, total, life, acks].map(String)
      const child = startChild(runtime, args)
      const go = (): void => writeFileSync(join(folder, `go-${life}`), "")
      return { child, acks, go }
    }
    const expectEnd = (end: unknown, wanted: unknown): void => {
      if (end !== wanted) throw new Error(`A life ended with ${String(end)}, not ${String(wanted)}`)
    }
    let next = prepare(0)
    for (let kill = 0; kill < kills; kill++) {
      const { child, acks, go } = next
      go()
      // Its code is loaded meanwhile; with the lock held, it could not start by itself.
      next = prepare(kill + 1)
      if (acks === 0) {
        // A few die while they start: recovery itself must survive that.
        const whileStarting = kill > 0 && random() < 0.25
        if (!whileStarting) await child.until(/^ready /m, 30_000)
        const millis = Math.round(whileStarting ? random() * 300 : 300 + random() * 1200)
        await pause(millis)
        child.signal("SIGKILL")
        moments.push(`${whileStarting ? "start" : "ready"} + ${millis} ms`)
      } else moments.push(`ack ${acks}`)
      expectEnd(await child.ended(), "SIGKILL")
    }
    const last = next.child
    next.go()
    await last.until(/^idle$/m, 40_000 + total * 10)
    last.signal("SIGTERM")
    expectEnd(await last.ended(), 0)
    await last.until(/stopped/)

    const evidence = await readEvidence(folder)
    const { ledger, effects, runs, letters, occurrences, attempts } = evidence
    const lost = attempts.filter(({ error }) => error.kind === "lost")
    const acks = new Set(ledger.filter(({ kind }) => kind === "ack").map(({ id }) => id))
    ended.report = {
      text:
        `${runtime}, seed ${seed}: killed at ${moments.join(", ")}; ${acks.size} acknowledged, ${runs.length} runs, ` +
        `${effects.filter(({ kind }) => kind === "start").length} starts, ${lost.length} attempts lost, ` +
        `${letters.length} letters, ${occurrences.length} occurrence rows`,
      violations: check(evidence),
      evidence,
    }
  })
  if (ended.report === undefined) throw new Error("The kills ended without a report")
  return ended.report
}
