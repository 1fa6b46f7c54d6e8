import { inspect } from 'node:util'
import { createLocker } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import type { RedisTransport, ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { callUntil, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { beforeEach, expect, it } from 'vitest'
import type { User } from './ways.ts'

/** A client library that keeps connections, the adapter for it, and the network of a suite. */
export interface RefusalParts<Client extends object> {
  readonly network: { readonly redis: RedisServer; readonly proxy: TcpProxy }
  /** Begins to connect, through the network's proxy unless a port is given. */
  connect(user?: Partial<User>, port?: number): Client
  close(client: Client): unknown
  transport(client: Client): RedisTransport
  store(client: Client): LeaseStore
  /** The number of listeners of an event that a call listens to while it waits for the connection. */
  listeners(client: Client): number
  /** Resolves when the client has failed to connect once. */
  failed(client: Client): Promise<unknown>
  /** Resolves when it has lost its connection. */
  lost(client: Client): Promise<unknown>
  /** Resolves when it is ready again. */
  ready(client: Client): Promise<unknown>
}

const never = new AbortController().signal
const increment: ScriptCall = {
  command: 'EVAL',
  body: "return redis.call('INCR', KEYS[1])",
  keys: ['lock:a'],
  args: [],
}

/** The reply to a command sent for it alone. */
export const runOver = async (transport: RedisTransport, signal = never): Promise<ScriptReply | undefined> =>
  (await transport.run([increment], callUntil(signal)))[0]

const right = 'the-right-password'
const wrong = 'the-wrong-password'

/** Connections that fail: what each such adapter reports about the reason, and when. */
export function refusalClaims<Client extends object>(over: RefusalParts<Client>): void {
  const { network } = over
  const run = (client: Client): Promise<ScriptReply | undefined> => runOver(over.transport(client))
  beforeEach(async () => {
    await network.redis.command('ACL', 'SETUSER', 'lock', 'reset', 'on', `>${right}`, '~*', '&*', '+@all')
  })

  it('a wrong password ends an acquire at once, with the server’s words as the cause', async () => {
    const client = over.connect({ username: 'lock', password: wrong })
    const locks = createLocker({ store: over.store(client) })
    // Longer than this test is allowed to take.
    const error = await locks.acquire('a', { wait: '10m' }).catch((e: unknown) => e)
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      executed: 'no',
      cause: { message: expect.stringMatching(/^WRONGPASS/) },
    })
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(wrong)
    await locks.close()
  })

  it('a call that waits until the client is ready is told the server’s words, and no listener is left', async () => {
    const client = over.connect({ username: 'lock', password: wrong })
    const before = over.listeners(client)
    const transport = over.transport(client)
    const waits = [1, 2].map(() => transport.whenReady('lock:a', callUntil(never)))
    expect(over.listeners(client)).toBe(before + 1)
    expect(await Promise.all(waits)).toEqual(
      waits.map(() => ({ type: 'error', message: expect.stringMatching(/^WRONGPASS/) })),
    )
    expect(over.listeners(client)).toBe(before)
  })

  it('a password that the server asks for and the client has not got ends a call at once', async () => {
    await using locked = await startRedis({ args: ['--requirepass', right] })
    const client = over.connect({}, locked.port)
    expect(await run(client)).toEqual({ type: 'error', message: expect.stringMatching(/^NOAUTH/) })
  })

  it('a user who may not run scripts is told so at once', async () => {
    await network.redis.command('ACL', 'SETUSER', 'lock', '-eval')
    const client = over.connect({ username: 'lock', password: right })
    expect(await run(client)).toEqual({ type: 'error', message: expect.stringMatching(/^NOPERM/) })
  })

  it('a password that is changed is noticed when the connection is lost, and does no harm once it is right again', async () => {
    const client = over.connect({ username: 'lock', password: right })
    expect(await run(client)).toMatchObject({ value: 1 })
    await network.redis.command('ACL', 'SETUSER', 'lock', 'resetpass', '>another-password')
    expect(await run(client)).toMatchObject({ value: 2 })
    const lost = over.lost(client)
    network.proxy.cut()
    await lost
    expect(await run(client)).toEqual({ type: 'error', message: expect.stringMatching(/^WRONGPASS/) })
    const back = over.ready(client)
    await network.redis.command('ACL', 'SETUSER', 'lock', `>${right}`)
    await back
    expect(await run(client)).toMatchObject({ value: 3 })
  })

  it('a call that was not sent has as its cause what the client met with', async () => {
    network.proxy.refuse()
    const client = over.connect()
    const controller = new AbortController()
    const transport = over.transport(client)
    const reply = runOver(transport, controller.signal)
    void over.failed(client).then(() => setImmediate(() => controller.abort()))
    expect(await reply).toMatchObject({
      type: 'unknown',
      executed: 'no',
      cause: { message: expect.stringContaining('not connected in time'), cause: { code: 'ECONNREFUSED' } },
    })
    // Once it has been connected, that no longer explains later failures.
    await network.proxy.accept()
    expect(await runOver(transport)).toMatchObject({ value: 1 })
    await over.close(client)
    const late = await runOver(transport)
    expect(late).toMatchObject({ executed: 'no', cause: { message: expect.stringMatching(/closed|status: end/) } })
    expect((late as { cause?: Error }).cause?.cause).toBeUndefined()
  })
}
