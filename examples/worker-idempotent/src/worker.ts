import { env, waitUntil } from 'cloudflare:workers'
import { bridgeNotifier } from '@leasehold/bridge-client'
import { createLocker } from '@leasehold/core'
import type { ReleaseNotifier } from '@leasehold/core/adapter'
import { fetchStore, fetchTransport } from '@leasehold/upstash'
import { answerOnce } from './answer-once.ts'
import { idempotencyKey, payFor, paymentFrom } from './payment.ts'
import { Problem, problemResponse } from './problem.ts'
import { storedAnswers } from './stored-answers.ts'

// At module scope: creating these sends nothing, and requests share no timer and no promise through them.
const redis = { url: env.REDIS_URL, token: env.REDIS_TOKEN }
const locks = createLocker({
  store: fetchStore(redis),
  notifier: wakeUps(),
  name: 'payments',
  ttl: '30s',
  wait: '2s',
  // If the store does not answer, the locker may have a grant. It releases that after our answer.
  waitUntil,
})
const answers = storedAnswers(fetchTransport(redis))

/** Waiters wake through the bridge if there is one, and poll otherwise. */
function wakeUps(): ReleaseNotifier | undefined {
  const { BRIDGE_URL: url, BRIDGE_TOKEN: token } = env
  if (!url || !token) return undefined
  // With a wrong token, waiters poll: that costs commands and throws no error, so somebody has to be told.
  const onError = ({ message }: Error): void => console.error(message)
  return bridgeNotifier({ url, token, onError })
}

async function answer(request: Request): Promise<Response> {
  try {
    if (new URL(request.url).pathname !== '/payments') throw new Problem(404, 'not-found', 'There is only /payments')
    if (request.method !== 'POST') throw new Problem(405, 'method-not-allowed', 'Send a POST', { allow: 'POST' })
    const key = idempotencyKey(request)
    const body = await request.text()
    const payment = paymentFrom(body)
    return await answerOnce({ locks, answers }, key, body, (lease) => payFor(payment, key, lease.signal))
  } catch (error) {
    return problemResponse(error)
  }
}

export default {
  fetch(request: Request): Promise<Response> {
    const answered = answer(request)
    // The client may leave. Work that has begun goes on and is recorded, so that its retry finds an answer.
    waitUntil(answered)
    return answered
  },
}
