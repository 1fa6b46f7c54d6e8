import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { type ProcessRuntime, processName } from './process-name.ts'

/** A runtime with this hostname and, as in Deno, this state of every permission. */
const runtime = (host: string, pid = 42, state?: string): ProcessRuntime => ({
  process: { pid, env: { HOSTNAME: 'of-the-environment' }, getBuiltinModule: () => ({ hostname: () => host }) },
  ...(state !== undefined && { Deno: { permissions: { querySync: () => ({ state }) } } }),
})

describe('the name of a process', () => {
  it('is host and pid of this one', () => {
    const name = processName(globalThis as ProcessRuntime)
    expect(name).toMatch(/^[\w-]{1,32}$/)
    expect(name).toMatch(new RegExp(`-${process.pid}$`))
    expect(hostname().replaceAll(/[^\w-]+/g, '-')).toContain(name?.slice(0, name.lastIndexOf('-')))
  })

  it.each([
    ['orders-7', 'orders-7-42'],
    ['build host.local', 'build-host-local-42'],
    ['büro_3', 'b-ro_3-42'],
    ['-.-', '42'],
    ['ip-10-0-12-7.eu-west-1.compute.internal', 'ip-10-0-12-7-42'],
    ['coupon-issue-service-7c9d5b8f7b-x2x4z', 'ssue-service-7c9d5b8f7b-x2x4z-42'],
  ])('of the host %s is %s', (host, name) => {
    expect(processName(runtime(host))).toBe(name)
    expect(name.length).toBeLessThanOrEqual(32)
  })

  it('keeps a long pid whole, and the rest in its bounds', () => {
    expect(processName(runtime('h'.repeat(40), 4_194_304))).toBe(`${'h'.repeat(24)}-4194304`)
  })

  it('has the host of the environment where the runtime has no such module, as Node before 20.16', () => {
    expect(processName({ process: { pid: 7, env: { HOSTNAME: 'pod-1' } } })).toBe('pod-1-7')
  })

  it('is the one that is known of host and pid, and none if neither is', () => {
    const failing = (): never => {
      throw new Error('uv_os_gethostname')
    }
    expect(processName({ process: { pid: 7, getBuiltinModule: failing } })).toBe('7')
    expect(processName({ process: { env: { HOSTNAME: 'pod-1' } } })).toBe('pod-1')
    expect(processName({ process: {} })).toBeUndefined()
    expect(processName({})).toBeUndefined()
  })

  it('has no host on Deno without the permission for it, so that nobody is asked', () => {
    expect(processName(runtime('pod-1', 42, 'prompt'))).toBe('42')
    expect(processName(runtime('pod-1', 42, 'granted'))).toBe('pod-1-42')
  })
})
