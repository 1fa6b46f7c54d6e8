import { createLocker } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { expect, it } from 'vitest'
import { checkIdempotentOptions, type IdempotentOptions, idempotent } from './index.ts'

const locks = createLocker({ store: memoryStore() })

it.each([
  ['locks', { locks: {} }],
  ['scope', { scope: '' }],
  ['scope', { scope: undefined }],
  ['required', { required: 1 }],
  ['methods', { methods: 'POST' }],
  ['methods', { methods: [''] }],
  ['longestKey', { longestKey: 0 }],
  ['longestKey', { longestKey: 256 }],
  ['largestBody', { largestBody: -1 }],
  ['largestResult', { largestResult: 524_289 }],
  ['fingerprint', { fingerprint: 'sha' }],
  ['wait', { wait: -1 }],
  ['ttl', { ttl: 0 }],
  ['ttl', { ttl: 1 }],
  ['keep', { keep: 'long' }],
  ['inDoubtFor', { inDoubtFor: '1d' }],
  ['bodyWithin', { bodyWithin: NaN }],
  ['resultWithin', { resultWithin: Infinity }],
  ['inDoubt', { inDoubt: 'run' }],
  ['endings', { endings: { 600: 'complete' } }],
  ['endings', { endings: { '5xx': 'store' } }],
  ['endings', { endings: { 200: () => 'complete' } }],
  ['headers', { headers: ['Set-Cookie'] }],
  ['headers', { headers: ['Transfer-Encoding'] }],
  ['headers', { headers: ['two words'] }],
  ['problems', { problems: 1 }],
  ['onEvent', { onEvent: 'log' }],
  ['whileRunning', { whileRunning: 'wait' }],
])('a bad %s is refused by name, also without a locker: %o', (option, bad) => {
  const options = { scope: 'a', ...bad } as unknown as Omit<IdempotentOptions, 'locks'>
  const refused = expect.objectContaining({ code: 'INVALID_OPTION', option })
  expect(() => idempotent({ locks, ...options })).toThrow(refused)
  expect(() => checkIdempotentOptions(options)).toThrow(refused)
})

it('an option that is undefined is as good as left out', () => {
  const names = ['required', 'methods', 'wait', 'ttl', 'endings', 'headers', 'inDoubt', 'onEvent', 'clock']
  const options = Object.fromEntries(names.map((name) => [name, undefined]))
  expect(idempotent({ locks, scope: 'a', ...options })).toBeTypeOf('function')
})
