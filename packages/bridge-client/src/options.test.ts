import { inspect } from 'node:util'
import { createLocker } from '@leasehold/core'
import { ManualClock, ScriptedStore } from '@leasehold/testkit'
import { describe, expect, it, vi } from 'vitest'
import { type BridgeNotifierOptions, bridgeNotifier } from './index.ts'

const good: BridgeNotifierOptions = { url: 'https://bridge.example/base', token: 'token' }

describe('bridgeNotifier', () => {
  it.each([
    ['url', ''],
    ['url', 'bridge.example'],
    ['url', 'redis://bridge.example'],
    ['url', 'https://user:password@bridge.example'],
    ['url', 'https://bridge.example?a=b'],
    ['url', 'https://bridge.example#a'],
    ['url', undefined],
    ['token', ''],
    ['token', undefined],
    ['token', 'a b'],
    ['token', 'a\nb'],
    ['token', 'é'],
    ['mode', 'poll'],
    ['mode', null],
    ['mode', {}],
  ])('refuses the %s %j by name, without showing it', (option, value) => {
    let thrown: unknown
    try {
      bridgeNotifier({ ...good, [option]: value } as BridgeNotifierOptions)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ code: 'INVALID_OPTION', option })
    if (value && option !== 'mode') expect(inspect(thrown)).not.toContain(`${value}"`)
  })

  it.each(['url', 'token'])(
    'says of a %s that is undefined that it is: an unset variable of the environment',
    (option) => {
      expect(() => bridgeNotifier({ ...good, [option]: undefined })).toThrow(
        `Option "${option}" must be set: it is empty or undefined`,
      )
    },
  )

  it('takes undefined for every optional field, as if it were left out', () => {
    const optional = { prefix: undefined, mode: undefined, fetch: undefined, onError: undefined, clock: undefined }
    expect(bridgeNotifier({ ...good, ...optional }).prefix).toBe('lock:')
  })

  it('checks by itself, and is relied on for half a minute', () => {
    expect(bridgeNotifier(good)).toMatchObject({ checks: true, recheckMs: 30_000 })
  })

  it('asks a function for the token no sooner than it needs one', () => {
    const token = vi.fn(() => 'token')
    bridgeNotifier({ ...good, token })
    expect(token).not.toHaveBeenCalled()
  })

  it.each([
    [undefined, 'lock:'],
    ['tenant:', 'tenant:'],
  ])('with the prefix %s has the prefix %s, and is refused beside a store with another', (given, prefix) => {
    const notifier = bridgeNotifier({ ...good, ...(given !== undefined && { prefix: given }) })
    expect(notifier.prefix).toBe(prefix)
    const storeOf = (its: string) => Object.assign(new ScriptedStore(new ManualClock()), { prefix: its })
    createLocker({ store: storeOf(prefix), notifier })
    expect(() => createLocker({ store: storeOf('other:'), notifier })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', option: 'notifier' }),
    )
  })
})
