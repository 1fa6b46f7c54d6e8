import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { createLocker, type Locker } from '@leasehold/core'
import { fifo } from '@leasehold/core/queue'
import { ioredisStore } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type RunningProgram, readyUrl, runProgram } from '../../test/program.ts'

const main = fileURLToPath(new URL('bridge.ts', import.meta.url))
const token = 'sesame-4f1d2c0b8a7e4d6f9b3a5c1e2d77'
const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
/** The line that the README has operators copy, without the user's name and password. */
const [, permissions = ''] = /^ACL SETUSER \S+ on >\S+ (.+)$/m.exec(readme) ?? []

let redis: RedisServer
let client: Redis
let locks: Locker
let running: RunningProgram | undefined
beforeAll(async () => {
  redis = await startRedis()
  client = new Redis(redis.url)
  locks = createLocker({ store: ioredisStore(client) })
})
afterEach(() => running?.child.kill('SIGKILL'))
afterAll(async () => {
  client.disconnect()
  await redis.stop()
})

const mayOnly = (...rules: readonly string[]): Promise<unknown> =>
  redis.command('ACL', 'SETUSER', 'bridge', 'reset', 'on', '>pw-very-secret', ...rules)

function start(database = 0): RunningProgram {
  running = runProgram(main, ['--port', '0'], {
    LEASEHOLD_BRIDGE_REDIS: `redis://bridge:pw-very-secret@127.0.0.1:${redis.port}/${database}`,
    LEASEHOLD_BRIDGE_TOKENS: token,
  })
  return running
}

async function readiness(url: string): Promise<readonly [status: number, detail: string]> {
  const response = await fetch(`${url}/readyz`)
  if (response.ok) return [response.status, await response.text()]
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  return [response.status, ((await response.json()) as { detail: string }).detail]
}

test('the user of the README is allowed all that the bridge needs: it starts, is ready, and wakes those who wait', async () => {
  expect(permissions).not.toBe('')
  await mayOnly(...permissions.split(' '))
  const program = start()
  const url = await readyUrl(program)
  expect(await readiness(url)).toEqual([200, 'ok'])
  const lease = await locks.acquire('a', { ttl: '1m', renew: false })
  const stream = await fetch(`${url}/v1/events?key=a`, { headers: { authorization: `Bearer ${token}` } })
  const text = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  const heard = async (what: string): Promise<void> => {
    for (let all = ''; !all.includes(what); ) all += (await text?.read())?.value ?? expect.fail('the stream ended')
  }
  await heard('"held":true')
  await lease.release()
  await heard('event: release')
  program.child.kill('SIGTERM')
  expect((await program.ended).err).toBe('')
})

test('with the second line of the README it keeps places in queues, and without it waiters look for themselves', async () => {
  const [, more = ''] = /^ACL SETUSER bridge (~.+)$/m.exec(readme) ?? []
  expect(more).not.toBe('')
  const lease = await locks.acquire('q', { ttl: '1m', renew: false, queue: fifo() })
  const waiting = locks.acquire('q', { queue: fifo() })
  const inboxes = async (): Promise<readonly string[]> => client.hkeys('{lock:q}:inboxes')
  await expect.poll(inboxes).toHaveLength(1)
  const name = `${(await inboxes())[0]}.1`
  const wait = async (url: string): Promise<Response> =>
    fetch(`${url}/v1/wait?key=q&since=-&timeout=1s&waiter=${name}`, { headers: { authorization: `Bearer ${token}` } })

  await mayOnly(...permissions.split(' '))
  const without = start()
  const refused = await wait(await readyUrl(without))
  expect([refused.status, refused.headers.get('leasehold-kept')]).toEqual([204, null])
  without.child.kill('SIGTERM')
  expect((await without.ended).out).toMatch(/places in queues are not kept/)

  await mayOnly(...permissions.split(' '), ...more.split(' '))
  const kept = await wait(await readyUrl(start()))
  expect([kept.status, kept.headers.get('leasehold-kept')]).toEqual([204, '1'])
  await lease.release()
  await (await waiting).release()
})

/** For each permission, what the operator reads when it is missing. Redis 7.0 does not name the command of a script. */
const reasons: Readonly<Record<string, RegExp>> = {
  '~lock:*': /Redis refuses checks: NOPERM, for the keys/,
  '&lock:release:*': /Redis refuses the subscription: NOPERM, for the channels/,
  '+psubscribe': /Redis refuses the subscription: NOPERM, for the 'psubscribe' command/,
  '+evalsha': /Redis refuses checks: NOPERM, for the 'evalsha' command/,
  '+eval': /Redis refuses checks: NOPERM, for the 'eval' command/,
  '+get': /Redis refuses checks: NOPERM.*'get'/,
  '+pttl': /Redis refuses checks: NOPERM.*'pttl'/,
}

test('there is nothing in the line of the README that it can do without', () => {
  expect(permissions.split(' ').sort()).toEqual(Object.keys(reasons).sort())
})

test.each(Object.entries(reasons))('without %s it does not start, and says why', async (missing, reason) => {
  await client.script('FLUSH')
  await mayOnly(...permissions.split(' ').filter((each) => each !== missing))
  const { code, err } = await start().ended
  expect([code, err]).toEqual([1, expect.stringMatching(reason)])
  expect(err).not.toContain('very-secret')
})

test('for another database it needs to select one, and does not take the first one instead', async () => {
  await mayOnly(...permissions.split(' '))
  const { code, err } = await start(1).ended
  expect([code, err]).toEqual([1, expect.stringMatching(/cannot use Redis .*NOPERM.*'select'/)])
  await mayOnly(...permissions.split(' '), '+select')
  expect(await readiness(await readyUrl(start(1)))).toEqual([200, 'ok'])
})

test('a permission that is withdrawn makes it unready within seconds, with the reason; given back, ready again', async () => {
  await mayOnly(...permissions.split(' '))
  const url = await readyUrl(start())
  const rules = [
    ['-get', '+get', reasons['+get']],
    ['-pttl', '+pttl', reasons['+pttl']],
    ['resetkeys', '~lock:*', reasons['~lock:*']],
    ['resetchannels', '&lock:release:*', reasons['&lock:release:*']],
  ] as const
  for (const [withdrawn, givenBack, reason] of rules) {
    await redis.command('ACL', 'SETUSER', 'bridge', withdrawn)
    await expect.poll(() => readiness(url)).toEqual([503, expect.stringMatching(reason as RegExp)])
    await redis.command('ACL', 'SETUSER', 'bridge', givenBack)
    await expect.poll(() => readiness(url)).toEqual([200, 'ok'])
  }
})

test('a password that is changed is the reason once it has to connect anew', async () => {
  await mayOnly(...permissions.split(' '))
  const url = await readyUrl(start())
  await redis.command('ACL', 'SETUSER', 'bridge', 'resetpass', '>another')
  await redis.command('CLIENT', 'KILL', 'USER', 'bridge')
  await expect.poll(() => readiness(url)).toEqual([503, 'Redis cannot be reached: WRONGPASS'])
  await redis.command('ACL', 'SETUSER', 'bridge', '>pw-very-secret')
  await expect.poll(() => readiness(url)).toEqual([200, 'ok'])
})
