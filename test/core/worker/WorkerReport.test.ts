// What a node leaves in the store about its workers: read back as it was, cut where it would be too large, and never in
// the way of a tool that finds something else there.
import { describe, expect, test } from "vitest"
import { utf8Length } from "../../../core/domain/Payload.ts"
import { workersBytesMax } from "../../../core/ports/StoreLimits.ts"
import { decodeReport, encodeReport } from "../../../core/worker/WorkerReport.ts"
import { viewOf } from "./views.ts"

describe("worker report", () => {
  test("is read back as it was", () => {
    const workers = [
      viewOf("w1", { labels: { region: "eu", gpu: 2, ssd: true } }),
      viewOf('w"2"é😀', { queues: ["mail"], status: "draining", load: 0.5, credential: "c1" }),
    ]
    expect(decodeReport(encodeReport(workers))).toEqual({ workers, leftOut: 0 })
    expect(decodeReport(encodeReport([]))).toEqual({ workers: [], leftOut: 0 })
  })

  test("what does not fit is left out, and how many that are is said", () => {
    const workers = Array.from({ length: 3000 }, (_, n) => viewOf(`wörker ${n}`))
    for (const bytesMax of [64, 1000, 65_536, workersBytesMax]) {
      const text = encodeReport(workers, bytesMax)
      expect(utf8Length(text)).toBeLessThanOrEqual(bytesMax)
      const report = decodeReport(text)
      expect(report.workers.length + report.leftOut).toBe(3000)
      expect(report.workers).toEqual(workers.slice(0, report.workers.length))
    }
    const one = encodeReport(workers.slice(0, 1))
    expect(decodeReport(encodeReport(workers.slice(0, 1), utf8Length(one) + 1)).leftOut).toBe(0)
  })

  test("bad text is no report, and bad rows are left out", () => {
    for (const text of ["", "{", "null", "1", "[]", "{}", '{"workers":1}', '{"workers":{}}', "\u0000"])
      expect(decodeReport(text)).toEqual({ workers: [], leftOut: 0 })
    const good = viewOf("w1")
    const bad = [null, 1, {}, { ...good, jobs: "a" }, { ...good, jobs: [1] }, { ...good, labels: null }]
    const text = JSON.stringify({ workers: [...bad, good, { ...good, slots: "1" }], leftOut: "x" })
    expect(decodeReport(text)).toEqual({ workers: [good], leftOut: 0 })
  })
})
