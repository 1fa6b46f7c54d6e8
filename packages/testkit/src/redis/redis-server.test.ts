import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { freePort } from '../free-port.ts'
import { connectRedisAdmin } from './redis-admin.ts'
import { startRedis } from './redis-server.ts'

const lives = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('startRedis', () => {
  it('starts a server that answers and writes nothing to disk', async () => {
    await using redis = await startRedis({ args: ['--maxmemory', '64mb'] })
    expect(redis.url).toBe(`redis://127.0.0.1:${redis.port}`)
    expect(await redis.command('PING')).toBe('PONG')
    expect(await redis.command('CONFIG', 'GET', 'save')).toEqual(['save', ''])
    expect(await redis.command('CONFIG', 'GET', 'appendonly')).toEqual(['appendonly', 'no'])
    expect(await redis.command('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', String(64 * 1024 ** 2)])
  })

  it('runs several servers at once', async () => {
    const servers = await Promise.all([startRedis(), startRedis(), startRedis()])
    expect(new Set(servers.map(({ port }) => port)).size).toBe(3)
    await Promise.all(servers.map((server) => server.stop()))
    expect(servers.map(({ pid }) => lives(pid))).toEqual([false, false, false])
  })

  it('forgets its data in a restart, unless it is to keep it', async () => {
    await using redis = await startRedis()
    const before = redis.pid
    await redis.command('SET', 'key', 'value')
    await redis.restart({ keepData: true })
    expect(redis.pid).not.toBe(before)
    expect(await redis.command('GET', 'key')).toBe('value')
    await redis.restart()
    expect(await redis.command('GET', 'key')).toBe(null)
  })

  it('starts again on the same port after a crash', async () => {
    await using redis = await startRedis()
    await redis.kill()
    expect(lives(redis.pid)).toBe(false)
    await redis.restart()
    expect(await redis.command('PING')).toBe('PONG')
  })

  it('answers nothing while it is paused, and everything after', async () => {
    await using redis = await startRedis()
    await using admin = await connectRedisAdmin({ port: redis.port })
    await using impatient = await connectRedisAdmin({ port: redis.port, deadlineMs: 50 })
    redis.pause()
    const reply = admin.command('PING')
    await expect(impatient.command('PING')).rejects.toThrow('50 ms')
    redis.resume()
    expect(await reply).toBe('PONG')
  })

  it('can be stopped while it is paused, and more than once', async () => {
    const redis = await startRedis()
    redis.pause()
    await redis.stop()
    await redis.stop()
    expect(lives(redis.pid)).toBe(false)
  })

  it('starts a replica that has its primary’s data', async () => {
    await using primary = await startRedis()
    await primary.command('SET', 'key', 'value')
    await using replica = await startRedis({ replicaOf: primary })
    expect(await replica.command('GET', 'key')).toBe('value')
    await expect(replica.command('SET', 'key', 'other')).rejects.toThrow(/^READONLY/)
  })

  it('lets a replica miss what its primary writes, catch up, and be promoted', async () => {
    await using primary = await startRedis()
    await using replica = await startRedis({ replicaOf: primary })
    await replica.stopReplication()
    await primary.command('SET', 'key', 'missed')
    expect(await primary.replicatedTo(1, 50)).toBe(0)
    expect(await replica.command('GET', 'key')).toBe(null)
    await replica.resumeReplication()
    expect(await primary.replicatedTo(1)).toBe(1)
    expect(await replica.command('GET', 'key')).toBe('missed')
    await replica.promote()
    expect(await replica.command('SET', 'key', 'its own')).toBe('OK')
  })

  it('says what the server said when it does not start', async () => {
    await expect(startRedis({ args: ['--no-such-option', 'yes'] })).rejects.toThrow(/ended at once/)
  })

  it('does not take another’s answer on the port for its own', async () => {
    await using redis = await startRedis()
    await expect(startRedis({ port: redis.port })).rejects.toThrow(/address already in use/i)
    const port = await freePort()
    const other = createServer().listen(port, '127.0.0.1')
    await once(other, 'listening')
    await expect(startRedis({ port })).rejects.toThrow(/address already in use/i)
    other.close()
  })
})

describe('a process that has started servers', () => {
  /** Runs a separate process that starts a server and then does `ending`; resolves to the server's port and folder. */
  async function abandon(ending: string): Promise<{ port: number; folder: string }> {
    const source = `
      import { startRedis } from ${JSON.stringify(new URL('./redis-server.ts', import.meta.url).href)}
      const redis = await startRedis()
      const [, folder] = await redis.command('CONFIG', 'GET', 'dir')
      console.log(JSON.stringify({ port: redis.port, folder }))
      ${ending}`
    const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
      // Hides what it throws on purpose.
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    const ended = once(child, 'exit')
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    await ended
    return JSON.parse(line.toString()) as { port: number; folder: string }
  }

  it.each([
    ['forgets them and ends', ''],
    ['exits', 'process.exit(3)'],
    ['throws', 'throw new Error("on purpose")'],
    ['is killed', 'process.kill(process.pid, "SIGKILL")'],
    ['is killed with all its group', 'process.kill(-process.pid, "SIGKILL")'],
    ['is told to end with all its group', 'process.kill(-process.pid, "SIGTERM"); setInterval(() => undefined, 1_000)'],
    ['has killed one and ends', 'await redis.kill()'],
  ])('leaves neither them nor their files when it %s', async (_, ending) => {
    const { port, folder } = await abandon(ending)
    // Not by its pid: a dead process keeps its pid until its new parent reaps it.
    const answers = (): Promise<boolean> =>
      connectRedisAdmin({ port }).then(
        (admin) => admin.close().then(() => true),
        () => false,
      )
    await expect.poll(async () => [await answers(), existsSync(folder)]).toEqual([false, false])
  })
})
