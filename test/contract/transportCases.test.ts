// The cases of the transport contract can fail: a transport that breaks one promise fails the cases of that promise, and
// no others.
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { expect, test } from "vitest"
import { memoryNetwork, type Network, type NetworkOptions } from "../../adapters/transport-memory/mod.ts"
import { runTransportCase, transportContract } from "../../core/contract/TransportContract.ts"
import type {
  Connect,
  Listeners,
  Listen,
  ListenOptions,
  TransportLimits,
} from "../../core/ports/Transport.ts"
import { flowingTime } from "./transport/flowingTime.ts"

type Transport = Pick<Network, "connect"> & { readonly listen: Listen }

const cases = transportContract.filter(({ needs = [] }) => !needs.includes("wire"))

/** Names of the cases that fail. */
const failuresOf = async (
  doctor: (transport: Transport) => Partial<Transport>,
  options: Omit<NetworkOptions, "time"> = {},
): Promise<ReadonlyArray<string>> => {
  const failures: Array<string> = []
  for (const each of cases) {
    const time = flowingTime()
    const network = memoryNetwork({ time, ...options })
    const ground = {
      ...network,
      ...doctor(network),
      pass: (millis: number) => Effect.promise(() => time.pass(millis)),
    }
    const exit = await Effect.runPromise(Effect.exit(runTransportCase(each, ground)))
    if (Exit.isFailure(exit)) failures.push(each.name)
  }
  return failures
}

const namesWith = (...parts: ReadonlyArray<string>): ReadonlyArray<string> =>
  cases.map(({ name }) => name).filter((name) => parts.some((part) => name.includes(part)))

const otherOptions =
  (change: (options: ListenOptions) => Partial<ListenOptions>) =>
  ({ listen }: Transport): Partial<Transport> => ({
    listen: (options) => listen({ ...options, ...change(options) }),
  })
const otherLimits = (limits: Partial<TransportLimits>) =>
  otherOptions((options) => ({ limits: { ...options.limits, ...limits } }))
const otherListeners = (change: (listeners: Listeners) => Partial<Listeners>) =>
  otherOptions(({ onConnection }) => ({
    onConnection: (connection) => {
      const listeners = onConnection(connection)
      return { ...listeners, ...change(listeners) }
    },
  }))

test("a transport that keeps its promises fails none, and there are cases", async () => {
  expect(cases.length).toBeGreaterThan(35)
  expect(new Set(transportContract.map(({ name }) => name)).size).toBe(transportContract.length)
  expect(await failuresOf(() => ({}))).toEqual([])
})

test("frames > one that is lost now and then is missed", async () => {
  let count = 0
  const failures = await failuresOf(() => ({}), { loses: () => ++count % 20 === 0 })
  expect(failures).toEqual(expect.arrayContaining([...namesWith("frames > a thousand each way")]))
})

test("frames > two that change places are noticed", async () => {
  const failures = await failuresOf(
    otherListeners((listeners) => {
      let held: string | null = null
      return {
        onFrame: (frame) => {
          if (held === null && frame === "frame 7") {
            held = frame
            return
          }
          const answer = listeners.onFrame(frame)
          if (held !== null) listeners.onFrame(held)
          held = null
          return answer
        },
      }
    }),
  )
  expect(failures).toEqual(
    expect.arrayContaining([...namesWith("frames > a thousand each way", "frames > a listener may answer")]),
  )
})

test.each<[string, Partial<TransportLimits>, ReadonlyArray<string>]>([
  ["connections", { connectionsMax: Infinity }, ["one connection too many"]],
  ["frames in a second", { framesPerSecondMax: Infinity }, ["flood > more frames"]],
  ["the first frame", { firstFrameMillisMax: Infinity }, ["sends no frame after it connected"]],
  ["the size of a frame", { frameBytesMax: 1_000_000 }, ["the limit is in bytes", "over the server's limit"]],
])("limits > a server without one of %s is found", async (_, limits, expected) => {
  expect(await failuresOf(otherLimits(limits))).toEqual(namesWith(...expected))
})

test("subprotocol > a server that takes the client's order is found", async () => {
  expect(await failuresOf(otherOptions(() => ({ protocols: [] })))).toEqual(
    namesWith("the server's order decides"),
  )
})

test("listener > an end that is told twice is noticed", async () => {
  const failures = await failuresOf(
    otherListeners((listeners) => ({
      onClose: (code, reason) => {
        listeners.onClose(code, reason)
        listeners.onClose(code, reason)
      },
    })),
  )
  expect(failures).toEqual(
    expect.arrayContaining([...namesWith("both hear it, once", "a second one changes")]),
  )
})

test("listener > a transport that keeps a failed connection is found", async () => {
  const failures = await failuresOf(
    otherListeners((listeners) => ({
      onFrame: (frame) => {
        try {
          const answer: unknown = listeners.onFrame(frame)
          Promise.resolve(answer).catch(() => undefined)
        } catch {
          // Kept, against the contract.
        }
      },
    })),
  )
  expect(failures).toEqual(
    namesWith("one that throws ends", "an asynchronous one that rejects", "a peer that goes on sending"),
  )
})

test("connect > a client that fails too early, or does not give up, is found", async () => {
  const early: Connect = (url, _, { onFail }) => {
    onFail(Object.assign(new Error(url), { _tag: "TransportError", operation: "connect" }) as never)
    return () => undefined
  }
  const failures = await failuresOf(({ connect, listen }) => {
    const stopped = new Set<string>()
    return {
      connect: (url, options, opening) => (stopped.has(url) ? early : connect)(url, options, opening),
      listen: async (options) => {
        const server = await listen(options)
        return { ...server, stop: (stop) => server.stop(stop).then(() => void stopped.add(server.url)) }
      },
    }
  })
  expect(failures).toEqual(namesWith("where nobody listens"))
  const stubborn = await failuresOf(({ connect }) => ({
    connect: (url, options, opening) => {
      connect(url, options, opening)
      return () => undefined
    },
  }))
  expect(stubborn).toEqual(namesWith("given up before it is open"))
})

test("stop > a server that says it has stopped while connections are open is found", async () => {
  const failures = await failuresOf(({ listen }) => ({
    listen: async (options) => {
      const server = await listen(options)
      return {
        ...server,
        stop: async (stop) => {
          void server.stop(stop)
        },
      }
    },
  }))
  expect(failures).toEqual(namesWith("stop > every connection hears why"))
})
