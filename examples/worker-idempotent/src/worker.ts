import { pay } from './payments.ts'
import { Problem, problemResponse } from './problem.ts'
import { settle } from './settlement.ts'
import { orderStatement, type StatementJob, writeStatement } from './statements.ts'

export { Watchdog } from './watchdog.ts'

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  const [, statementOf] = /^\/statements\/(\d{4}-\d\d)$/.exec(pathname) ?? []
  if (pathname !== '/payments' && !statementOf) {
    throw new Problem(404, 'not-found', 'There is /payments, and /statements/2026-10')
  }
  if (request.method !== 'POST') throw new Problem(405, 'method-not-allowed', 'Send a POST', { allow: 'POST' })
  return statementOf ? orderStatement(request, statementOf) : pay(request)
}

export default {
  fetch: (request: Request): Promise<Response> => answer(request).catch(problemResponse),

  async queue({ messages }: { readonly messages: readonly QueueMessage<StatementJob>[] }): Promise<void> {
    for (const message of messages) await writeStatement(message)
  },

  scheduled: ({ scheduledTime }: { readonly scheduledTime: number }): Promise<void> =>
    settle(new Date(scheduledTime).toISOString().slice(0, 10)),
}
