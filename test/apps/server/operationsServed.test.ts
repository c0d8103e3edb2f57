// A server does the operations of its store, and ends them when it stops.
import { expect, test, vi } from "vitest"
import { job, NonRetryable } from "uhrwerk"
import { serve } from "../../../apps/server/mod.ts"

test("serve > what was asked for over HTTP is done without another word", async () => {
  const troubles: Array<string> = []
  const { url, stop } = await serve(
    {
      jobs: [
        job("mail", {
          run: () => {
            throw new NonRetryable("It broke")
          },
        }),
      ],
      storage: "memory:",
    },
    { port: 0, onEvent: (event) => event.kind === "trouble" && troubles.push(event.doing) },
  )
  const ask = async (path: string, body?: unknown): Promise<any> => {
    const response = await fetch(`${url}${path}`, {
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      headers: { "content-type": "application/json" },
    })
    return response.json()
  }
  // Not as often as it can: a server holds back who asks too often.
  const until = (what: () => Promise<boolean>): Promise<void> =>
    vi.waitFor(async () => expect(await what()).toBe(true), { timeout: 20_000, interval: 100 })
  try {
    for (let n = 0; n < 5; n++) await ask("/v1/runs", { job: "mail" })
    await until(async () => (await ask("/v1/dead-letters")).items.length === 5)
    const { id } = await ask("/v1/dead-letters/drop", { filter: { job: "mail" } })
    await until(async () => (await ask(`/v1/operations/${id}`)).state === "succeeded")
    expect(await ask(`/v1/operations/${id}`)).toMatchObject({ done: 5, total: { value: 5, exact: true } })
    expect((await ask("/v1/dead-letters")).items).toEqual([])
  } finally {
    await stop()
  }
  expect(troubles).toEqual([])
})
