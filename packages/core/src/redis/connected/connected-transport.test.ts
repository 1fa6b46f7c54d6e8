import { callUntil } from '@leasehold/testkit'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ScriptCall, ScriptReply } from '../redis-transport.ts'
import type { ConnectedClient } from './connected-client.ts'
import { connectedTransport } from './connected-transport.ts'

const never = new AbortController().signal
const call = (key = 'lock:a', token = 'a-token-of-some-length'): ScriptCall => ({
  command: 'EVALSHA',
  body: 'f'.repeat(40),
  keys: [key],
  args: [token],
})
const value = (of: unknown): ScriptReply => ({ type: 'value', value: of, resent: false })

/** A client whose connections and answers the test controls. */
class ScriptedClient {
  state: 'connecting' | 'ready' | 'ended' = 'connecting'
  line = {}
  readonly sent: { readonly call: ScriptCall; answer(reply: ScriptReply): void; withdrawn: number }[] = []
  listeners = 0
  begun = 0
  writes = 0
  withdrawnAs: 'no' | 'unknown' = 'unknown'
  changed = (): void => undefined
  failed = (_error: unknown): void => undefined

  become(state: ScriptedClient['state']): void {
    this.state = state
    this.changed()
  }

  get port(): ConnectedClient<ScriptedClient> {
    return {
      client: this,
      cluster: false,
      nodeOf: () => '',
      connectionFor: () => this,
      obstacle: () => (this.state === 'ready' ? undefined : this),
      hasEnded: () => this.state === 'ended',
      describe: () => `its state: ${this.state}`,
      listen: (_, changed, failed) => {
        this.listeners++
        Object.assign(this, { changed, failed })
        return () => this.listeners--
      },
      begin: () => this.begun++,
      lineOf: () => this.line,
      send: (each, _, answer) => {
        const sent = { call: each, answer, withdrawn: 0 }
        this.sent.push(sent)
        return {
          withdraw: () => {
            sent.withdrawn++
            return this.withdrawnAs
          },
        }
      },
      inOneWrite: (send) => {
        this.writes++
        send()
      },
    }
  }
}

describe('connectedTransport', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('hands calls over at once while the client is ready, those of one run in one write, and answers in order', async () => {
    const client = new ScriptedClient()
    client.become('ready')
    const transport = connectedTransport(client.port)
    const replies = transport.run([call('a'), call('b')], callUntil(never))
    expect([client.sent.map((each) => each.call.keys[0]), client.writes]).toEqual([['a', 'b'], 1])
    client.sent[1]?.answer(value(2))
    client.sent[0]?.answer(value(1))
    expect(await replies).toEqual([value(1), value(2)])
    expect(transport.whenReady('a', callUntil(never))).toBeUndefined()
    expect(client.listeners).toBe(0)
  })

  it('begins a connection and waits for it with one set of listeners, whoever waits, and leaves none', async () => {
    const client = new ScriptedClient()
    const transports = [connectedTransport(client.port), connectedTransport(client.port)]
    const replies = transports.map((transport) => transport.run([call()], callUntil(never)))
    expect([client.listeners, client.sent.length]).toEqual([1, 0])
    await expect.poll(() => client.begun).toBeGreaterThan(0)
    client.become('ready')
    await expect.poll(() => client.sent.length).toBe(2)
    for (const each of client.sent) each.answer(value('done'))
    expect(await Promise.all(replies)).toEqual([[value('done')], [value('done')]])
    expect(client.listeners).toBe(0)
  })

  it('never hands over what was given up while it waited, and says what the connection met with', async () => {
    const client = new ScriptedClient()
    const controller = new AbortController()
    const replies = connectedTransport(client.port).run([call()], callUntil(controller.signal))
    client.failed(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', command: 'secret' }))
    controller.abort()
    const cause = { message: expect.stringContaining('connecting'), cause: { code: 'ECONNREFUSED' } }
    expect(await replies).toMatchObject([{ type: 'unknown', executed: 'no', cause }])
    client.become('ready')
    await Promise.resolve()
    expect([client.sent.length, client.listeners]).toEqual([0, 0])
  })

  it('ends a call at once when the client has ended, or the server will not let it in', async () => {
    const client = new ScriptedClient()
    const transport = connectedTransport(client.port)
    const refused = transport.run([call()], callUntil(never))
    client.failed(new Error('WRONGPASS invalid username-password pair'))
    expect(await refused).toEqual([{ type: 'error', message: 'WRONGPASS invalid username-password pair' }])
    const ended = transport.whenReady('lock:a', callUntil(never))
    client.become('ended')
    expect(await ended).toMatchObject({ executed: 'no' })
    expect(await transport.run([call()], callUntil(never))).toMatchObject([{ executed: 'no' }])
  })

  it.each(['no', 'unknown'] as const)(
    'takes back what was handed over and not answered, and believes the client: %s',
    async (as) => {
      const client = new ScriptedClient()
      client.become('ready')
      client.withdrawnAs = as
      const controller = new AbortController()
      const replies = connectedTransport(client.port).run([call('a'), call('b')], callUntil(controller.signal))
      client.sent[0]?.answer(value(1))
      controller.abort()
      expect(await replies).toMatchObject([value(1), { type: 'unknown', executed: as }])
      expect(client.sent.map(({ withdrawn }) => withdrawn)).toEqual([0, 1])
    },
  )

  it('holds calls back from a line that has been silent for a thousand of them, until a late answer or another line', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    const client = new ScriptedClient()
    client.become('ready')
    const transport = connectedTransport(client.port)
    const giveUp = async (): Promise<void> => {
      const controller = new AbortController()
      const given = transport.run(Array(1_000).fill(call()), callUntil(controller.signal))
      controller.abort()
      await given
    }
    const held = async (): Promise<boolean> => {
      const before = client.sent.length
      void transport.run([call()], callUntil(never))
      return client.sent.length === before
    }
    await giveUp()
    expect(await held()).toBe(false)
    now.mockReturnValue(2_001)
    expect(await held()).toBe(true)
    now.mockReturnValue(2_501)
    expect([await held(), await held()]).toEqual([false, true])
    client.sent[0]?.answer(value('late'))
    expect(await held()).toBe(false)
    await giveUp()
    now.mockReturnValue(4_700)
    expect(await held()).toBe(true)
    client.line = {}
    expect(await held()).toBe(false)
  })
})
