// The entry `uhrwerk/protocol`: the worker protocol for whoever writes a worker, a server or a tool of their own. The
// two sessions are pure machines: they open no socket and know no clock.
export {
  type CloseName,
  closeCodes,
  closeOf,
  closeReason,
  type Reconnect,
  reconnectAfter,
  waitMillis,
} from "./Close.ts"
export { decode, encode, joinAcks, type RefusalCode, Refused } from "./Codec.ts"
export { admit, deny, greet, greetOffer, type Greeted, type Known } from "./Greeting.ts"
export * as limits from "./Limits.ts"
export {
  type Ack,
  type Assign,
  type Ended,
  type Hello,
  type Message,
  type MessageOf,
  type MessageType,
  messageTypes,
  type Sent,
  type Side,
  type Welcome,
} from "./Message.ts"
export { openServer } from "./ServerOpen.ts"
export { stepServer } from "./ServerSession.ts"
export {
  canRun,
  capacity,
  freeSlots,
  type Moment,
  type ServerEffect,
  type ServerEvent,
  type ServerState,
  serverWakeAt,
} from "./ServerState.ts"
export { type AttemptKey, type InHand, keyOf, type Verdict } from "./Shapes.ts"
export { checkTerms, defaultTerms, type Terms } from "./Terms.ts"
export { agree, capabilities, currentVersion, negotiate, nextOffer, subprotocol } from "./Version.ts"
export { stepWorker } from "./WorkerSession.ts"
export {
  type InHandEntry,
  type Introduction,
  makeWorker,
  type WorkerEffect,
  type WorkerEvent,
  type WorkerState,
  workerWakeAt,
} from "./WorkerState.ts"
