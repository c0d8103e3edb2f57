// What is looked at when all conversations are over: promises about everything that the worker said.
import { type Case, must, Unmet } from "../Case.ts"
import type { Stage } from "../Stage.ts"

/** A promise about all that the worker said in the whole kit. */
export interface Audit extends Omit<Case, "run"> {
  readonly judge: (stages: ReadonlyArray<Stage>) => void
}

const valid: Audit = {
  id: "wire.valid",
  expects: "every frame that it sent is a message of a worker by the published schema",
  why: "a server ends the connection over one that is not",
  see: "Messages",
  points: 2,
  judge: (stages) => {
    for (const { entries } of stages)
      for (const entry of entries)
        if (entry.kind === "heard" && entry.refused !== null)
          throw new Unmet(
            "every frame is a message",
            `${entry.refused} The frame: ${entry.frame.slice(0, 300)}`,
          )
  },
}

const ids: Audit = {
  id: "wire.ids",
  expects: "the ids of its messages are unique within a session",
  why: "errors and answers to heartbeats name them",
  see: "Connection",
  points: 1,
  judge: (stages) => {
    for (const { entries } of stages) {
      // Of one process, so that they also are over its reconnects, which may resume a session.
      const seen = new Set<string>()
      for (const entry of entries) {
        if (entry.kind !== "heard" || entry.message === null) continue
        const { id } = entry.message
        must(!seen.has(id), "each id once", `"${id}" came twice`)
        seen.add(id)
      }
    }
  },
}

const incarnation: Audit = {
  id: "core.incarnation",
  expects: "each start of the process has an incarnation of its own, with at least 32 characters",
  why: "it is how a server tells a reconnect from another process of the same name",
  see: "hello (worker)",
  points: 1,
  judge: (stages) => {
    const seen = new Set<string>()
    for (const { hellos } of stages) {
      const said = new Set(hellos.map((hello) => hello.incarnation))
      must(said.size <= 1, "the same over the reconnects of a process", [...said])
      for (const each of said) {
        must(!seen.has(each), "another one for each process", each)
        // 128 random bits take 22 characters at least, in Base64.
        must(each.length >= 22, "128 random bits", each)
        seen.add(each)
      }
    }
  },
}

export const audits: ReadonlyArray<Audit> = [incarnation, valid, ids]
