import { setTimeout as sleep } from 'node:timers/promises'

const checkEveryMs = 20
/** How long a claim may take to become true, in milliseconds: several times what a server needs, for a busy machine. */
const withinMs = 20_000

/**
 * Resolves when the claim is true. A claim that rejects is not true yet: the server it asks may be down.
 *
 * @throws Error that says what was waited for, and why the last check failed
 */
export async function until(what: string, claim: () => Promise<boolean>): Promise<void> {
  const deadline = AbortSignal.timeout(withinMs)
  for (;;) {
    let cause: unknown
    const isTrue = await claim().catch((error: unknown) => {
      cause = error
      return false
    })
    if (isTrue) return
    if (deadline.aborted) throw new Error(`Not so after ${withinMs} ms: ${what}`, { cause })
    await sleep(checkEveryMs)
  }
}
