// Answers that come bit by bit, such as events, last as long as whoever asked may ask: when his key is revoked or expires
// they end, and so do those to this machine when the first key is made. Whoever then asks again is refused.
import type { Caller } from "../api/Handler.ts"
import type { KeyBook } from "../TokenBook.ts"

/** Watches answers. */
export interface Streams {
  /** The same stream, which ends when the caller may not ask any more. */
  readonly guard: (caller: Caller, stream: ReadableStream<Uint8Array>) => ReadableStream<Uint8Array>
}

/** Over the keys of a server. */
export const makeStreams = (keys: Pick<KeyBook, "watch" | "isRequired">): Streams => ({
  guard: ({ kind, id }, stream) => {
    const reader = stream.getReader()
    let over = false
    let unwatch = (): void => undefined
    const end = (): void => {
      over = true
      unwatch()
    }
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          unwatch = keys.watch((valid) => {
            const may =
              kind === "key" ? id !== null && valid.has(id) : kind === "anyone" || !keys.isRequired()
            if (may || over) return
            end()
            controller.close()
            // A source that fails while it is given up fails nobody.
            reader.cancel().catch(() => undefined)
          })
        },
        pull: async (controller) => {
          try {
            const { done, value } = await reader.read()
            // It may have ended meanwhile.
            if (over) return
            if (!done) return controller.enqueue(value)
            end()
            controller.close()
          } catch (error) {
            end()
            throw error
          }
        },
        cancel: (reason) => {
          end()
          return reader.cancel(reason)
        },
      },
      // Nothing is taken before it is asked for: what comes too slowly is the source's own matter.
      { highWaterMark: 0 },
    )
  },
})
