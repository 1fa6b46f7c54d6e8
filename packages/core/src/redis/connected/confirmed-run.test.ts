import { callUntil } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import type { ScriptCall, ScriptReply } from '../redis-transport.ts'
import type { ConfirmedRun } from '../replica-wait.ts'
import { confirmedRun } from './confirmed-run.ts'
import type { ConnectedClient } from './connected-client.ts'

const call: ScriptCall = { command: 'EVALSHA', body: 'f'.repeat(40), keys: ['lock:a'], args: [] }
const wait = { replicas: 1, timeoutMs: 50 }
const value = (of: unknown): ScriptReply => ({ type: 'value', value: of, resent: false })
const moved: ScriptReply = { type: 'error', message: 'MOVED 1 127.0.0.1:7001' }
const silence: ScriptReply = { type: 'unknown', executed: 'no' }

/**
 * A cluster client that answers a call with each of these replies in turn: first the node that it takes for the key's,
 * then the one to which it follows the redirection, then that one again.
 */
function redirected(replies: readonly ScriptReply[]): ConfirmedRun {
  const left = [...replies]
  const client = {}
  const to: ConnectedClient<object> = {
    client,
    cluster: true,
    nodeOf: () => '127.0.0.1:7000',
    connectionFor: () => client,
    obstacle: () => undefined,
    hasEnded: () => false,
    describe: () => 'ready',
    listen: () => () => undefined,
    lineOf: () => client,
    send(_, __, answer) {
      answer(left.shift() as ScriptReply)
      return undefined
    },
    alone: () => ({ to, wait: async () => 1 }),
  }
  return confirmedRun({ to, home: (work) => work() })
}

describe('a call that a cluster redirects, and that is repeated for a WAIT on the node that carried it out,', () => {
  const run = (replies: readonly ScriptReply[]) =>
    redirected(replies)([call], wait, callUntil(new AbortController().signal))

  it('is confirmed there, and is answered as one that was carried out before', async () => {
    const answers = await run([moved, value([1]), value([['gone']])])
    expect(answers).toEqual([{ reply: { type: 'value', value: [['gone']], resent: true }, confirmed: 1 }])
  })

  it('may have been carried out, though the repeat was not', async () => {
    expect(await run([moved, value([1]), silence])).toMatchObject([{ reply: { type: 'unknown', executed: 'unknown' } }])
  })

  it('has the answer of the first, unconfirmed, if the repeat is redirected again', async () => {
    expect(await run([moved, value([1]), moved])).toEqual([{ reply: value([1]), confirmed: 0 }])
  })
})
