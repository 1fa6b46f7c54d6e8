import type { ListedLock } from '@leasehold/core/listing'
import { describe, expect, test } from 'vitest'
import { changesOf } from './lock-changes.ts'

const lock = (holder: string | null, fence: number | null, more: Partial<ListedLock> = {}): ListedLock => ({
  ...{ key: 'k', kind: 'exclusive', capacity: 1, holders: holder === null ? 0 : 1, holder, fence, since: null },
  ...{ expiresInMs: 1_000, isKept: false, waiting: 0, listeners: 0, ...more },
})
const [a, b] = [lock('a', 1), lock('b', 2)]

describe('what became of a lock', () => {
  test.each([
    ['is taken', undefined, a, undefined, ['held']],
    ['stays as it is', a, lock('a', 1, { expiresInMs: 900 }), undefined, []],
    ['goes on to another', a, b, 'released', ['handed-on']],
    ['goes on to another, where nobody hears how', a, b, 'unheard', ['handed-on']],
    ['was taken away, and another has it', a, b, 'revoked', ['revoked', 'held']],
    ['was lost, and another has it', a, b, undefined, ['lost', 'held']],
    ['is given back', a, undefined, 'released', ['released']],
    ['is taken away', a, undefined, 'revoked', ['revoked']],
    ['ends, and nobody has said so', a, undefined, undefined, ['lost']],
    ['ends, where nobody hears how', a, undefined, 'unheard', ['gone']],
    ['is waited for', a, lock('a', 1, { listeners: 2 }), undefined, ['waiting']],
    [
      'is about to pass to the first in its queue',
      a,
      lock(null, null, { waiting: 1 }),
      'released',
      ['released', 'waiting'],
    ],
    ['has one holder more', lock(null, null, { holders: 2 }), lock(null, null, { holders: 3 }), undefined, ['held']],
    [
      'has one holder less',
      lock(null, null, { holders: 3 }),
      lock(null, null, { holders: 2 }),
      'released',
      ['released'],
    ],
  ] as const)('%s', (_, before, now, ended, changes) => {
    expect(changesOf(before, now, ended).map(({ change }) => change)).toEqual(changes)
  })

  test('names who had it, and who has it', () => {
    expect(changesOf(a, b, 'released')[0]).toMatchObject({ key: 'k', from: 'a', holder: 'b', fence: 2, holders: 1 })
    expect(changesOf(a, undefined, 'revoked')[0]).toMatchObject({ holder: 'a', fence: 1, holders: 0 })
  })
})
