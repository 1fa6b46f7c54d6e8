import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ensureRedis, findRedis } from './redis-binary.ts'

describe('findRedis', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'leasehold-binary-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const place = (name: string, mode = 0o755): Promise<void> => writeFile(join(folder, name), '#!/bin/sh\n', { mode })
  const found = (): ReturnType<typeof findRedis> => findRedis({ PATH: `/nonexistent:${folder}` })

  it('prefers redis-server, then valkey-server, then redis-check-rdb', async () => {
    expect(found()).toBeUndefined()
    await place('redis-check-rdb')
    expect(found()).toEqual({ path: join(folder, 'redis-check-rdb'), argv0: 'redis-server' })
    await place('valkey-server')
    expect(found()).toEqual({ path: join(folder, 'valkey-server'), argv0: 'valkey-server' })
    await place('redis-server')
    expect(found()).toEqual({ path: join(folder, 'redis-server'), argv0: 'redis-server' })
  })

  it('takes neither a file that may not be run nor a folder for a program', async () => {
    await place('redis-server', 0o644)
    await symlink(tmpdir(), join(folder, 'valkey-server'))
    expect(found()).toBeUndefined()
  })

  it('uses the program that the environment names, or says that it cannot', async () => {
    await place('redis-server')
    await place('mine')
    const env = { PATH: folder, LEASEHOLD_REDIS_SERVER: join(folder, 'mine') }
    expect(findRedis(env)).toEqual({ path: join(folder, 'mine'), argv0: 'mine' })
    expect(() => findRedis({ ...env, LEASEHOLD_REDIS_SERVER: '/nonexistent' })).toThrow('LEASEHOLD_REDIS_SERVER')
  })

  it('is said what to install where nothing can be installed', async () => {
    await expect(ensureRedis({ PATH: folder })).rejects.toThrow(/Install the package redis-tools .* or valkey/)
  })
})
