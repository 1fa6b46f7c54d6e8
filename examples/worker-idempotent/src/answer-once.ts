import { type Lease, LeaseLostError, type Locker, StoreUnavailableError } from '@leasehold/core'
import { Problem } from './problem.ts'
import type { Answer, StoredAnswer, StoredAnswers } from './stored-answers.ts'

interface Tools {
  readonly locks: Locker
  readonly answers: StoredAnswers
}

/**
 * Does the work of a key once, and gives everybody who asks with that key the answer it had.
 *
 * Two calls never work at the same time, and the answer that was stored stays. Should a holder stop between its work and
 * the storing, the next one does the work again: so what the work calls gets the key, too.
 *
 * @param body what was asked for: the same key with another body is a mistake of the client
 * @throws AcquireTimeoutError while another is at it · StoreUnavailableError · whatever the work throws, and then nothing
 *   is stored
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

  // Most repeats come when all is done. They cost one command and no lock.
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
      // It is done, and may not be stored. To say "try again" now would ask for it to be done twice.
      return response(answer, { 'idempotency-recorded': 'unknown' })
    }
  }

  try {
    return await locks.withLock(`payment:${key}`, once)
  } catch (error) {
    // The lock was lost in the meantime. What the fence let through is stored all the same, and stays.
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
