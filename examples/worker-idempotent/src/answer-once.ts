import { type Lease, LeaseLostError, type Locker, StoreUnavailableError } from '@leasehold/core'
import { Problem } from './problem.ts'
import type { Answer, StoredAnswer, StoredAnswers } from './stored-answers.ts'

interface Tools {
  readonly locks: Locker
  readonly answers: StoredAnswers
}

/**
 * Does the work of a key once, and gives its answer to everybody who asks with that key.
 *
 * Two calls never work at the same time, and a stored answer stays. If a holder stops after its work and before it
 * stores the answer, the next one does the work again. So the work passes the key on to whatever it calls.
 *
 * @param body the request: the same key with another body is a mistake of the client
 * @throws AcquireTimeoutError while another call holds the lock · StoreUnavailableError · whatever the work throws; then
 *   nothing is stored
 */
export async function answerOnce(
  { locks, answers }: Tools,
  key: string,
  body: string,
  work: (lease: Lease) => Promise<Answer>,
): Promise<Response> {
  const fingerprint = await sha256(body)
  const replay = (stored: StoredAnswer): Response => {
    if (stored.fingerprint !== fingerprint)
      throw new Problem(422, 'key-reused', 'This key was used for another request')
    return response(stored, { 'idempotency-replayed': 'true' })
  }

  // Most repeats come after the work is done. They cost one command and no lock.
  const stored = await answers.read(key)
  if (stored) return replay(stored)

  const once = async (lease: Lease): Promise<Response> => {
    const storedMeanwhile = await answers.read(key)
    if (storedMeanwhile) return replay(storedMeanwhile)

    lease.assertValid()
    const answer = await work(lease)
    try {
      const winner = await answers.store(key, { ...answer, fingerprint }, lease.fence)
      return winner ? replay(winner) : response(answer)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      // The work is done, but its answer may not be stored. "Try again" would make it happen twice.
      return response(answer, { 'idempotency-recorded': 'unknown' })
    }
  }

  try {
    return await locks.withLock(`payment:${key}`, once)
  } catch (error) {
    // The lock was lost meanwhile. If the fence let the answer through, it is stored all the same, and stays.
    if (error instanceof LeaseLostError && error.result instanceof Response) return error.result
    throw error
  }
}

const response = ({ status, body }: Answer, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(body, { status, headers: { 'content-type': 'application/json', ...headers } })

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
