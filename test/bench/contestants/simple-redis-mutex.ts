import { type Contestant, ttlMs as defaultTtlMs, waitMs } from './contestant.ts'

/** Each release wakes every waiter, over one channel for all locks. */
export const simpleRedisMutex: Contestant = {
  name: 'simple-redis-mutex',
  role: 'other',
  client: 'node-redis',
  sends: ['set', 'incr', 'evalsha', 'eval', 'script|load', 'subscribe'],
  async connect(port) {
    const [{ createClient }, { lock }] = await Promise.all([import('redis'), import('simple-redis-mutex')])
    // A client command that times out would end the process: nobody catches the rejection of a woken waiter's try.
    const client = createClient({ socket: { host: '127.0.0.1', port }, commandOptions: { timeout: waitMs } })
    await client.connect()
    return {
      async acquire(key, ttlMs = defaultTtlMs) {
        const release = await lock(client, key, { timeout: ttlMs, failAfter: waitMs })
        return { fence: release.fencingToken, release }
      },
    }
  },
}
