import { describe, expect, test } from 'vitest'
import { keySlot } from '../redis/connected/key-slot.ts'
import { keyLayout } from '../redis/keys.ts'
import type { RedisTransport } from '../redis/redis-transport.ts'
import { Call } from '../timing/call-deadline.ts'
import { mostRestarts, slotProbes } from './figures.ts'
import { beginning, following } from './place.ts'
import { redisListing } from './redis-listing.ts'

/** A cluster as its client knows it: who has a slot. */
const cluster = (nodeOf: (slot: number) => string): RedisTransport =>
  ({ cluster: true, nodeOf: (key: string) => nodeOf(keySlot(key)) }) as RedisTransport

describe('a search of a cluster', () => {
  test('reaches every slot, and no smaller number of probes would', () => {
    const places = beginning(
      cluster((slot) => String(slot)),
      'lock:',
      0,
    )
    expect(places.nodes).toHaveLength(16_384)
    expect(places.nodes.at(-1)?.key).toBe(`{${slotProbes - 1}}:lock:`)
  })

  test('goes from node to node, by a key that lies on each', () => {
    const half = cluster((slot) => (slot < 8_192 ? 'a' : 'b'))
    const first = beginning(half, 'lock:', 0)
    expect(first.nodes.map(({ name, key }) => [name, half.nodeOf(key)])).toEqual([
      ['b', 'b'],
      ['a', 'a'],
    ])
    const within = following(half, 'lock:', first, '12')
    expect(within).toEqual({ ...first, cursor: '12' })
    const second = following(half, 'lock:', first, '0')
    expect(second).toMatchObject({ cursor: '0', nodes: [{ name: 'a' }] })
    expect(second && following(half, 'lock:', second, '0')).toBeUndefined()
  })

  test('begins again when another node may have answered, but not for ever', async () => {
    let owner = 'a'
    const moving = cluster(() => owner)
    let place = beginning(moving, 'lock:', 0)
    owner = 'b'
    place = following(moving, 'lock:', { ...place, cursor: '7' }, '12') ?? place
    expect(place).toMatchObject({ cursor: '0', restarts: 1, nodes: [{ name: 'b' }] })
    const listing = redisListing([{ ...moving, whenReady: () => undefined } as RedisTransport, '1'], keyLayout())
    const outcome = await listing.find('*', { ...place, restarts: mostRestarts + 1 }, new Call(1_000))
    expect(outcome).toMatchObject({ type: 'refused', error: { code: 'STORE_UNAVAILABLE' } })
  })

  test('of a single server asks once where it is', () => {
    const single = { cluster: false, nodeOf: () => '' } as unknown as RedisTransport
    expect(beginning(single, 'lock:', 0).nodes).toEqual([{ name: '', key: '{0}:lock:' }])
  })
})
