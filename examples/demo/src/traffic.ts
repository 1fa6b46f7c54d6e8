import { setTimeout as pause } from 'node:timers/promises'
import type { DemoRequest } from './requests.ts'

/** The most tries of a request, and the shortest pause between two tries, in milliseconds. */
const mostTries = 6
const leastPauseMs = 200

/** The outcome of the requests so far, as the servers report it. It is shown as progress; no check uses it. */
export interface Tally {
  sent: number
  first: number
  repeats: number
  soldOut: number
  readonly unanswered: string[]
}

export const newTally = (): Tally => ({ sent: 0, first: 0, repeats: 0, soldOut: 0, unanswered: [] })

/**
 * Sends every request to every server at its scheduled time, and resolves when all are answered.
 *
 * @throws the signal's own reason when it is aborted
 */
export async function sendAll(
  requests: readonly DemoRequest[],
  urls: readonly string[],
  tally: Tally,
  speed: number,
  signal: AbortSignal,
): Promise<void> {
  const start = performance.now()
  const pending: Promise<void>[] = []
  // Requests are awaited only after all are sent, so an abort must not cause an unhandled rejection before that.
  const unlessAborted = (error: unknown): void => {
    if (!signal.aborted) throw error
  }
  for (const [index, request] of requests.entries()) {
    const waitMs = start + request.at / speed - performance.now()
    if (waitMs > 0) await pause(waitMs, undefined, { signal })
    // The servers take turns at being asked first.
    const turn = index % urls.length
    for (const url of [...urls.slice(turn), ...urls.slice(0, turn)]) {
      pending.push(send(url, request, tally, signal).catch(unlessAborted))
    }
  }
  await Promise.all(pending)
  signal.throwIfAborted()
}

async function send(url: string, { path, body }: DemoRequest, tally: Tally, signal: AbortSignal): Promise<void> {
  tally.sent++
  let last = ''
  for (let tries = 1; tries <= mostTries; tries++) {
    try {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body), signal })
      last = `${response.status} ${await response.text()}`.trim()
      if (response.status === 201) return void tally.first++
      if (response.status === 200) return void tally.repeats++
      if (response.status === 410) return void tally.soldOut++
      const retryAfter = response.headers.get('retry-after')
      if (retryAfter === null) break
      await pause(Math.max(leastPauseMs, Number(retryAfter) * 1_000), undefined, { signal })
    } catch (error) {
      if (signal.aborted) throw error
      last = (error as Error).message
      await pause(leastPauseMs, undefined, { signal })
    }
  }
  tally.unanswered.push(`POST ${path} ${JSON.stringify(body)} to ${url}: ${last}`)
}

/** Lets each server process one order many times at once, and resolves with how often each did the work. */
export async function rush(
  urls: readonly string[],
  orderId: string,
  requests: number,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const path = `/api/orders/test-concurrent?orderId=${orderId}&requests=${requests}`
  const reports = urls.map(async (url) => (await fetch(url + path, { signal })).json())
  return (await Promise.all(reports)).map((report) => (report as { worked: number }).worked)
}
