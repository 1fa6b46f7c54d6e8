import { describe, expect, test } from 'vitest'
import { keySlot } from '../redis/connected/key-slot.ts'
import { keyLayout } from '../redis/keys.ts'
import type { RedisTransport } from '../redis/redis-transport.ts'
import { Call } from '../timing/call-deadline.ts'
import { mostRestarts, tagsATurn } from './figures.ts'
import { beginning, following } from './place.ts'
import { redisListing } from './redis-listing.ts'

/** A cluster as its client knows it: which node has a slot. */
const cluster = (nodeOf: (slot: number) => string): RedisTransport =>
  ({ cluster: true, nodeOf: (key: string) => nodeOf(keySlot(key)) }) as RedisTransport

describe('a search of a cluster', () => {
  test('reaches every slot, each by one tag', async () => {
    let asked = 0
    const bySlot = cluster((slot) => {
      asked++
      return String(slot)
    })
    expect((await beginning(bySlot, 'lock:', 0)).nodes).toHaveLength(16_384)
    expect(asked).toBe(16_384)
  })

  test('lets others have their turn while it looks for the nodes', async () => {
    let [inTurn, most, isOver] = [0, 0, false]
    const next = (): void => {
      inTurn = 0
      if (!isOver) setImmediate(next)
    }
    next()
    const one = cluster(() => {
      most = Math.max(most, ++inTurn)
      return 'a'
    })
    await beginning(one, 'lock:', 0)
    isOver = true
    expect(most).toBe(tagsATurn)
  })

  test('goes from node to node, by a key that lies on each', async () => {
    const half = cluster((slot) => (slot < 8_192 ? 'a' : 'b'))
    const first = await beginning(half, 'lock:', 0)
    expect(first.nodes.map(({ name, key }) => name === half.nodeOf(key))).toEqual([true, true])
    const [, last] = first.nodes
    const within = await following(half, 'lock:', first, '12')
    expect(within).toEqual({ ...first, cursor: '12' })
    const second = await following(half, 'lock:', first, '0')
    expect(second).toMatchObject({ cursor: '0', nodes: [last] })
    expect(second && (await following(half, 'lock:', second, '0'))).toBeUndefined()
  })

  test('begins again when another node may have answered, but not for ever', async () => {
    let owner = 'a'
    const moving = cluster(() => owner)
    let place = await beginning(moving, 'lock:', 0)
    owner = 'b'
    place = (await following(moving, 'lock:', { ...place, cursor: '7' }, '12')) ?? place
    expect(place).toMatchObject({ cursor: '0', restarts: 1, nodes: [{ name: 'b' }] })
    const listing = redisListing([{ ...moving, whenReady: () => undefined } as RedisTransport, '1'], keyLayout())
    const outcome = await listing.find('*', { ...place, restarts: mostRestarts + 1 }, new Call(1_000))
    expect(outcome).toMatchObject({ type: 'refused', error: { code: 'STORE_UNAVAILABLE' } })
  })

  test('of a single server asks once where it is', async () => {
    const single = { cluster: false, nodeOf: () => '' } as unknown as RedisTransport
    expect((await beginning(single, 'lock:', 0)).nodes).toEqual([{ name: '', key: '{100000000000000}:lock:' }])
  })
})
