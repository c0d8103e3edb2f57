// The conversations that are published as golden transcripts, as what moves them from outside. `npm run spec` lets
// the sessions of core speak and writes what they say.
import type { Stimulus, Transcript } from "../../core/protocol/Transcript.ts"

type Scenario = Omit<Transcript, "lines" | "worker"> & {
  readonly worker?: Partial<Transcript["worker"]>
  readonly stimuli: ReadonlyArray<Stimulus>
}

const run = "01997f3e-8a00-7000-8000-000000000001"
const other = "01997f3e-8a00-7000-8000-000000000002"
const key = { run, token: 1 } as const

const tick = (at: number, to: "worker" | "server"): Stimulus => ({ at, to, event: { kind: "tick" } })
const start = tick(0, "worker")
const assign = (at: number, which = run, attempt = 1, token = 1, job = "mail.digest"): Stimulus => ({
  at,
  to: "server",
  event: {
    kind: "assign",
    assign: {
      run: which,
      attempt,
      token,
      job,
      queue: "default",
      input: '{"user":7}',
      attemptMax: 5,
      timeoutMillis: 60_000,
      dueAt: 1_790_000_000_000,
      lateMillis: 12,
      nominalAt: 1_790_000_000_000,
      schedule: "mail.digest",
      needs: [],
      step: null,
    },
  },
})
const ended = (at: number, which = run, token = 1): Stimulus => ({
  at,
  to: "worker",
  event: { kind: "ended", run: which, token, outcome: { kind: "succeeded", output: '{"sent":3}' } },
})
const settled = (at: number, result: "settled" | "stale" = "settled", which = run, token = 1): Stimulus => ({
  at,
  to: "server",
  event: { kind: "settled", run: which, token, result },
})
const cut = (at: number): Stimulus => ({ at, network: "cut" })
const lose = (at: number): Stimulus => ({ at, network: "lose" })
const carry = (at: number): Stimulus => ({ at, network: "carry" })

export const scenarios: ReadonlyArray<Scenario> = [
  {
    name: "one-run",
    about:
      "A run from its assignment to its acknowledged result, with progress, a log line and a heartbeat; then the worker drains.",
    stimuli: [
      start,
      assign(10),
      {
        at: 20,
        to: "worker",
        event: {
          kind: "report",
          report: { type: "progress", run, attempt: 1, token: 1, percent: 50, note: "half" },
        },
      },
      {
        at: 30,
        to: "worker",
        event: {
          kind: "report",
          report: {
            type: "log",
            run,
            attempt: 1,
            token: 1,
            lines: [{ at: 1_790_000_000_029, level: "info", text: "sending" }],
          },
        },
      },
      ended(40),
      settled(41),
      tick(5_000, "worker"),
      { at: 6_000, to: "worker", event: { kind: "drain", graceMillis: 30_000, reason: "SIGTERM" } },
    ],
  },
  {
    name: "failures",
    about: "An attempt that fails with a wish for the wait, and one that is snoozed.",
    stimuli: [
      start,
      assign(10),
      {
        at: 20,
        to: "worker",
        event: {
          kind: "ended",
          ...key,
          outcome: {
            kind: "failed",
            error: { name: "SmtpError", message: "421 try later", kind: "error" },
            retryable: true,
            retryAfterMillis: 120_000,
          },
        },
      },
      settled(21),
      assign(120_030, run, 2, 2),
      {
        at: 120_040,
        to: "worker",
        event: { kind: "ended", run, token: 2, outcome: { kind: "snoozed", delayMillis: 300_000 } },
      },
      settled(120_041, "settled", run, 2),
    ],
  },
  {
    name: "refusals",
    about: "Assignments that a worker does not take: no handler, no room. Neither uses an attempt.",
    worker: { slots: 1, prefetch: 1 },
    stimuli: [
      start,
      assign(10, run, 1, 1, "video.encode"),
      assign(20, run, 1, 2),
      assign(30, other),
      ended(40, run, 2),
      settled(41, "settled", run, 2),
    ],
  },
  {
    name: "lost-result",
    about: "The connection is cut and the result with it. The worker resumes and tells it again.",
    stimuli: [start, assign(10), lose(20), ended(30), cut(40), carry(40), tick(400, "worker"), settled(401)],
  },
  {
    name: "lost-acknowledgement",
    about:
      "The result is stored, its acknowledgement is lost with the connection. The welcome says that it is settled; nothing is applied twice.",
    stimuli: [start, assign(10), ended(20), lose(30), settled(30), cut(40), carry(40), tick(400, "worker")],
  },
  {
    name: "lost-assignment",
    about:
      "An assignment is lost with the connection. The worker does not name it in its hello, so it comes again, under the same token.",
    stimuli: [start, lose(10), assign(10), cut(20), carry(20), tick(400, "worker"), ended(500), settled(501)],
  },
  {
    name: "repeated-assignment",
    about: "An assignment comes twice. It is begun once, and acknowledged twice; also after it has ended.",
    stimuli: [start, assign(10), { at: 20, repeat: "server" }, ended(30), settled(31)],
  },
  {
    name: "unanswered",
    about:
      "Frames get lost although the connection stays: the assignment, and then the result, come again after 5 s.",
    stimuli: [
      start,
      lose(10),
      assign(10),
      carry(20),
      tick(5_010, "server"),
      lose(5_020),
      ended(5_020),
      carry(5_030),
      tick(10_020, "worker"),
      settled(10_021),
    ],
  },
  {
    name: "too-late",
    about:
      "The worker comes back after its grace. Its handler was told to stop, its run is another's, and its outcome is not reported.",
    stimuli: [
      start,
      assign(10),
      cut(20),
      tick(1_020, "server"),
      tick(1_020, "worker"),
      assign(1_400, run, 2, 2),
      ended(1_500, run, 1),
      ended(1_600, run, 2),
      settled(1_601, "settled", run, 2),
    ],
  },
  {
    name: "server-restart",
    about: "The server closes with 1012. The next one adopts what the worker still has, as its token holds.",
    stimuli: [
      start,
      assign(10),
      { at: 20, to: "server", event: { kind: "end", close: "restart", reason: "restart", keep: true } },
      { at: 20, verdicts: [{ run, attempt: 1, token: 1, verdict: "keep" }] },
      tick(400, "worker"),
      ended(500),
      settled(501),
    ],
  },
  {
    name: "cancel",
    about: "A run is cancelled. The handler is told, and what it reports is stale.",
    stimuli: [
      start,
      assign(10),
      { at: 20, to: "server", event: { kind: "stop", ...key, reason: "cancelled" } },
      {
        at: 30,
        to: "worker",
        event: {
          kind: "ended",
          ...key,
          outcome: {
            kind: "failed",
            error: { name: "StopSignal", message: "The attempt was stopped: cancelled", kind: "cancelled" },
            retryable: true,
            retryAfterMillis: null,
          },
        },
      },
      settled(31, "stale"),
    ],
  },
  {
    name: "server-drain",
    about:
      "The server drains: what waits goes back unbegun, what runs may end, then the worker says bye and looks for another server.",
    worker: { slots: 1, prefetch: 1 },
    stimuli: [
      start,
      assign(10),
      assign(11, other),
      { at: 20, to: "server", event: { kind: "drain", graceMillis: 30_000, reason: "deploy" } },
      settled(21, "settled", other),
      ended(1_000),
      settled(1_001),
    ],
  },
  {
    name: "silence",
    about:
      "One way is dead: the server hears nothing. After 10 s the worker gives the connection up, and resumes on another.",
    stimuli: [
      start,
      assign(10),
      lose(100),
      tick(5_000, "worker"),
      tick(10_010, "worker"),
      carry(10_020),
      tick(10_300, "worker"),
      ended(10_400),
      settled(10_401),
    ],
  },
  {
    name: "bad-messages",
    about:
      "An unknown type is answered and the session goes on; a wrong field is answered and ends the connection with 4400.",
    stimuli: [
      start,
      { at: 10, from: "worker", raw: '{"type":"greet","id":"x1"}' },
      { at: 20, from: "worker", raw: `{"type":"result","id":"x2","run":"${run}","attempt":1,"token":"1"}` },
    ],
  },
  {
    name: "newer-server",
    about: "A server that is newer says something that the worker does not know. It says so, and goes on.",
    stimuli: [
      start,
      { at: 10, from: "server", raw: '{"type":"applaud","id":"x1"}' },
      assign(20),
      ended(30),
      settled(31),
    ],
  },
  {
    name: "foreign-run",
    about: "A result for a run that the worker was never given is stale, and changes nothing.",
    stimuli: [
      start,
      {
        at: 10,
        from: "worker",
        raw: `{"type":"result","id":"x1","run":"${other}","attempt":1,"token":1,"outcome":{"kind":"succeeded","output":null}}`,
      },
    ],
  },
]

/** Who the worker of all transcripts is, where a scenario says nothing else. */
export const introduction: Transcript["worker"] = {
  worker: "w-1",
  incarnation: "0b1c2d3e4f5a69788796a5b4c3d2e1f0",
  runtime: "python 3.11",
  version: "1.0.0",
  jobs: ["mail.digest"],
  slots: 2,
  capabilities: ["resume"],
}
