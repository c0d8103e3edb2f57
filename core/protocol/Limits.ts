// Every bound of the worker protocol in one place. The server tells a worker those that matter to it in `welcome`.

/** The most UTF-8 bytes of one text frame, in both directions: 1 MiB. A transport refuses more while it receives. */
export const frameBytesMax = 1_048_576
/** How deep arrays and objects of a frame may nest. No message needs more than 9; unknown fields count too. */
export const depthMax = 32
/** How deep the JSON text of an input or output may nest. */
export const payloadDepthMax = 1_000
/** What WebSocket allows of a close reason, in UTF-8 bytes. */
export const closeReasonBytesMax = 123

/** How long a server waits for `hello` after the connection is there, and for its check, in milliseconds. */
export const helloMillis = 5_000
/** How often a worker sends `heartbeat`, in milliseconds. */
export const heartbeatMillis = 5_000
/** Heartbeats of a second and more go out where the wall clock shows a multiple of this, in milliseconds. */
export const beatGridMillis = 100
/** After this long without a sign of life a side gets no new work, and a worker gives the connection up. */
export const suspectMillis = 10_000
/** After this long without a sign of life a worker is lost: its runs are taken back. */
export const lostMillis = 15_000
/** How long before `lostMillis` a worker that is not answered stops its handlers, in milliseconds. */
export const leaseMarginMillis = 1_000
/**
 * How long the runs of a worker whose connection was cut wait for it to resume, in milliseconds: time for a first new
 * try, and others have the runs within a second.
 */
export const graceMillis = 800
/**
 * How long handlers go on after the server closed with 1012, in milliseconds: it leaves what was begun as it is, for the
 * server that the worker connects to next. A second less than the lease of a node that says nothing else.
 */
export const restartMillis = 4_000
/** First wait before a message without acknowledgement is sent again; doubles up to `resendMaxMillis`. */
export const resendMillis = 5_000
/** Longest wait before a message is sent again, in milliseconds. */
export const resendMaxMillis = 60_000

/** Characters of an id: of a message, a session, an incarnation. */
export const idMax = 64
/** Characters of a free text, such as a reason or a line of a log. */
export const textMax = 2_048
/** Characters of an error's stack. */
export const stackMax = 4_096
/** Names of jobs, and of queues, that a worker announces. */
export const namesMax = 1_000
/** Labels of a worker. */
export const labelsMax = 64
/** Capabilities that one side names. */
export const capabilitiesMax = 32
/** Slots of one worker; also the most runs that it takes beyond them. */
export const slotsMax = 1_000
/** Runs that a worker may have in hand, ended ones without acknowledgement included. */
export const inHandMax = 2 * slotsMax
/** Entries of one `ack`. */
export const acksMax = inHandMax
/** Lines of one `log`. */
export const linesMax = 100
/** Outputs of other runs, or ends of other steps, that one run may read. */
export { flowStepMax as needsMax } from "../domain/Flow.ts"
/** Messages a second that a worker may send beside those that the server's own messages cause. */
export const messagesPerSecondMax = 100
