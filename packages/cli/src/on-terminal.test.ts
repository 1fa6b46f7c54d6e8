import { createLocker, type Locker } from '@leasehold/core'
import { fifo } from '@leasehold/core/queue'
import { semaphore } from '@leasehold/core/semaphore'
import { ioredisBackend } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { soak } from '../../../test/support/scale.ts'
import { ProgramOnTerminal } from '../test/terminal.ts'

/* The program in a real terminal: a pty, and an emulator that reads what it draws. */

let server: RedisServer
let client: Redis
let locks: Locker
let others: Locker
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
  locks = createLocker({ ...ioredisBackend(client), name: 'orders-7' })
  others = createLocker({ ...ioredisBackend(client), name: 'a-holder-with-a-name-that-is-long-for-a-table' })
})
afterAll(async () => {
  await Promise.all([locks, others].map((each) => each.close({ grace: 0 })))
  client.disconnect()
  await server.stop()
})

const open = (args: readonly string[], columns: number, env: Readonly<Record<string, string>> = {}, rows = 24) =>
  new ProgramOnTerminal(args, columns, { LEASEHOLD_REDIS: server.url, ...env }, rows)

describe('ls', () => {
  const long = `list:${'of-many-things-'.repeat(6)}`
  beforeAll(async () => {
    await locks.acquire('list:order:1', { ttl: '30s' })
    await others.acquire(long, { ttl: '1h' })
    await semaphore(locks, 'list:pool', { permits: 3 }).acquire()
    // Characters two cells wide, of a script that joins them, and a key that would color the screen.
    await locks.acquire('list:주문:42', { ttl: '30s' })
    await client.set('lock:list:\u001b[31mred\u202e', 'of another library')
    const queued = 'list:queued'
    await locks.acquire(queued, { queue: fifo(), ttl: '30s' })
    others.acquire(queued, { queue: fifo(), wait: '1m' }).catch(() => undefined)
    await vi.waitUntil(async () => (await server.command('ZCARD', `{lock:${queued}}:queue`)) === 1)
  })

  test.each(soak ? [120, 80, 48, 30] : [120, 80, 30])('fits a terminal of %i columns', async (columns) => {
    await using program = open(['ls', 'list:*'], columns)
    expect(await program.ended()).toBe(0)
    const lines = program.screen()
    expect(program.broken()).toBe(0)
    expect(lines[0]).toMatch(/^KEY +HOLDER +.*EXPIRES IN/)
    expect(lines).toHaveLength(7)
    const order = lines.find((line) => line.startsWith('list:or'))
    expect(order).toMatch(/orders-7.* \d+(\.\d)? ?s/)
    expect(lines.join('\n')).toContain('…')
    if (columns >= 80) {
      expect(lines.find((line) => line.startsWith('list:pool'))).toContain('semaphore of 3')
      expect(lines.find((line) => line.startsWith('list:queued'))).toMatch(/ 1$/)
    }
    expect(/FENCE/.test(lines[0] ?? '')).toBe(columns === 120)
  })

  test('shows no control character of a key, and columns stand under each other', async () => {
    await using program = open(['ls', 'list:*'], 120)
    await program.ended()
    const lines = program.screen()
    expect(program.raw).not.toContain('\u001b[31mred')
    expect(lines.join('\n')).toContain('list:\\u001b[31mred\\u202e')
    const at = lines[0]?.indexOf('HOLDER') ?? 0
    // Each of the two characters takes two cells, and is one character of the line.
    const wide = lines.find((line) => line.startsWith('list:주문'))
    expect(wide?.indexOf('orders-7')).toBe(at - 2)
    expect(lines.find((line) => line.startsWith('list:order'))?.indexOf('orders-7')).toBe(at)
  })

  test('is coloured, unless NO_COLOR, TERM or --no-color says otherwise', async () => {
    const escapes = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<boolean> => {
      await using program = open(['ls', 'list:*', ...args], 80, env)
      await program.ended()
      return program.raw.includes('\u001b[')
    }
    expect(
      await Promise.all([
        escapes([]),
        escapes([], { NO_COLOR: '1' }),
        escapes([], { TERM: 'dumb' }),
        escapes(['--no-color']),
      ]),
    ).toEqual([true, false, false, false])
  })
})

describe('revoke', () => {
  test('says whom it takes the lock from, asks, and takes it', async () => {
    const lease = await locks.acquire('revoke:1', { ttl: '30s' })
    await using program = open(['revoke', 'revoke:1'], 80)
    await program.shows(new RegExp(`revoke:1 is held by orders-7 \\(fence ${lease.fence}, for `))
    await program.shows(/Take it away\? \[y\/N\]/)
    program.type('y\r')
    expect(await program.ended()).toBe(0)
    expect(program.screen().join('\n')).toContain('revoke:1 is taken from orders-7')
    expect(await locks.isLocked('revoke:1')).toBe(false)
  })

  test.each([
    ['n\r', 1, /Nothing is revoked/],
    ['\r', 1, /Nothing is revoked/],
    ['\u0003', 130, /Take it away/],
    ['\u0004', 1, /Nothing is revoked/],
  ])('takes nothing after the answer %j', async (answer, code, said) => {
    const key = `revoke:no:${answer.charCodeAt(0)}`
    await locks.acquire(key, { ttl: '30s' })
    await using program = open(['revoke', key], 80)
    await program.shows(/Take it away/)
    program.type(answer)
    expect(await program.ended()).toBe(code)
    expect(program.screen().join('\n')).toMatch(said)
    expect(program.raw).toMatch(/\n$/)
    expect(await locks.isLocked(key)).toBe(true)
  })

  test('takes nothing from another who has the lock by the time of the answer', async () => {
    const first = await locks.acquire('revoke:other', { ttl: '30s' })
    await using program = open(['revoke', 'revoke:other'], 120)
    await program.shows(/Take it away/)
    await first.release()
    await others.acquire('revoke:other', { ttl: '30s' })
    program.type('y\r')
    expect(await program.ended()).toBe(1)
    expect(program.screen().join('\n')).toMatch(/changed hands meanwhile \(now a-holder-with/)
    expect(await locks.isLocked('revoke:other')).toBe(true)
  })
})

describe('watch', () => {
  test('draws a table that follows what happens, and leaves the screen as it was', async () => {
    await using program = open(['watch', 'watch:*', '--every', '200ms'], 120)
    await program.shows(/0 held/)
    const lease = await locks.acquire('watch:a', { ttl: '30s' })
    await program.shows(/held +watch:a +orders-7 +exclusive/)
    const next = others.acquire('watch:a', { wait: '30s', ttl: '30s' })
    await program.shows(/watch:a +orders-7 .* 1 proc/)
    await lease.release()
    await program.shows(/handed-on +watch:a +a-holder-with/)
    await next
    // Nobody announces a DEL.
    await client.del('lock:watch:a')
    await program.shows(/lost +watch:a/)
    const revoked = await locks.acquire('watch:b', { ttl: '30s' })
    await program.shows(/held +watch:b/)
    await others.revoke('watch:b')
    await program.shows(/revoked +watch:b/)
    expect(program.broken()).toBe(0)
    program.resize(60)
    // A column that no longer fits is left out.
    await program.shows(/STATE +KEY(?!.*FENCE).*EXPIRES IN/)
    expect(program.broken()).toBe(0)
    program.type('\u0003')
    expect(await program.ended()).toBe(0)
    // What was drawn is gone, and the cursor is back.
    expect(program.screen().join('\n')).toMatch(/^(\^C)?Seen: .*1 handed-on.*1 lost.*1 revoked/)
    expect(program.raw.lastIndexOf('\u001b[?25h')).toBeGreaterThan(program.raw.lastIndexOf('\u001b[?25l'))
    await revoked.release()
  })

  test('shows what there is room for, and says how much there is not', async () => {
    const held = await Promise.all(Array.from({ length: 12 }, (_, at) => locks.acquire(`room:${at}`, { ttl: '30s' })))
    await using program = open(['watch', 'room:*'], 80, {}, 12)
    await program.shows(/12 held[\s\S]*and 4 more/)
    expect(program.screen().length).toBeLessThanOrEqual(12)
    await Promise.all(held.map((lease) => lease.release()))
  })
})
