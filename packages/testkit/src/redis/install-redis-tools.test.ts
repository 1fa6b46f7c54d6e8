import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { withMachineLock } from './install-redis-tools.ts'

const fresh = (): string => `leasehold-test-${process.pid}-${Math.random()}`

describe('withMachineLock', () => {
  it('lets one at a time work, and all in the end', async () => {
    const name = fresh()
    let working = 0
    let most = 0
    const work = async (): Promise<void> => {
      most = Math.max(most, ++working)
      await new Promise((resolve) => setImmediate(resolve))
      working--
    }
    await Promise.all(Array.from({ length: 10 }, () => withMachineLock(name, 5_000, work)))
    expect([most, working]).toEqual([1, 0])
  })

  it('is free again after work that failed', async () => {
    const name = fresh()
    await expect(withMachineLock(name, 1_000, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await withMachineLock(name, 1_000, async () => 'yes')).toBe('yes')
  })

  it('goes with a process that is killed', async () => {
    const name = fresh()
    const holder = spawn(process.execPath, [
      '-e',
      `require('node:net').createServer(() => {}).listen('\\0${name}', () => console.log('listening'))`,
    ])
    await once(holder.stdout, 'data')
    const turn = withMachineLock(name, 5_000, async () => 'mine')
    holder.kill('SIGKILL')
    expect(await turn).toBe('mine')
  })

  it('is not waited for beyond the deadline', async () => {
    const name = fresh()
    let finish: () => void = () => undefined
    const held = withMachineLock(name, 1_000, () => new Promise<void>((resolve) => (finish = resolve)))
    await expect(withMachineLock(name, 50, async () => undefined)).rejects.toThrow('more than 50 ms')
    finish()
    await held
  })
})
