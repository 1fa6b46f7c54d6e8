import { expect, it, vi } from 'vitest'
import { callUntil } from '../call-until.ts'
import { type Probe, shortMs, withOtherFence } from './probe.ts'
import type { Listening } from './store-under-test.ts'

export function announcementClaims(probe: Probe): void {
  it('a release is announced with its fence', async (context) => {
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    const { token } = await probe.grant({ key })
    await probe.release({ key, token })
    await hears(heard, [`released ${fenceOf(token)}`])
  })

  it('an acquire that is undone is announced like a release', async (context) => {
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    const acquisitionId = probe.acquisitionId()
    const { token } = await probe.grant({ key, acquisitionId })
    await probe.release({ key, acquisitionId })
    await hears(heard, [`released ${fenceOf(token)}`])
  })

  it('a revoke is announced as one, with the fence of the holder', async (context) => {
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    const { token } = await probe.grant({ key })
    await probe.revoke(key)
    await hears(heard, [`revoked ${fenceOf(token)}`])
  })

  it('what frees nothing is not announced', async (context) => {
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    await probe.revoke(key)
    await probe.release({ key, acquisitionId: probe.acquisitionId() })
    const { token } = await probe.grant({ key })
    await probe.contention({ key })
    await probe.renew(key, token, shortMs)
    await probe.release({ key, token: withOtherFence(token) })
    await probe.release({ key, acquisitionId: probe.acquisitionId() })
    await probe.release({ key, token })
    // Nor is a repeat; the last announcement shows that none before it is still in flight.
    await probe.release({ key, token })
    await probe.revoke(key)
    const last = await probe.grant({ key })
    await probe.release({ key, token })
    await probe.revoke(key)
    await probe.release({ key, token: last.token })
    const final = await probe.grant({ key })
    await probe.release({ key, token: final.token })
    const payloads = [
      `released ${fenceOf(token)}`,
      `revoked ${fenceOf(last.token)}`,
      `released ${fenceOf(final.token)}`,
    ]
    await hears(heard, payloads)
  })

  it('announcements go to those who listen to that key', async (context) => {
    probe.needs(context, 'announcements')
    const [key, other] = [probe.key(), probe.key()]
    const [heard, otherHeard] = [await probe.listen(key), await probe.listen(other)]
    const first = await probe.grant({ key: other })
    await probe.release({ key: other, token: first.token })
    const second = await probe.grant({ key })
    await probe.release({ key, token: second.token })
    await hears(otherHeard, [`released ${fenceOf(first.token)}`])
    await hears(heard, [`released ${fenceOf(second.token)}`])
  })

  it('a release tells how many heard it', async (context) => {
    probe.needs(context, 'announcements')
    probe.needs(context, 'subscriber-count')
    const key = probe.key()
    const unheard = await probe.grant({ key })
    const release = (token: string) => probe.store.release([{ key, token }], callUntil(probe.signal))
    expect(await release(unheard.token)).toEqual([{ type: 'released', announced: true, subscribers: 0 }])
    const heard = await probe.listen(key)
    const { token } = await probe.grant({ key })
    expect(await release(token)).toEqual([{ type: 'released', announced: true, subscribers: 1 }])
    await heard.close()
  })
}

const fenceOf = (token: string): string => token.slice(token.lastIndexOf('.') + 1)

/** Waits until the payloads are heard, then stops listening. Hearing more fails, too. */
async function hears(heard: Listening, payloads: readonly string[]): Promise<void> {
  await vi.waitUntil(() => heard.payloads.length >= payloads.length, {
    timeout: 2_000,
    interval: 10,
  })
  expect(heard.payloads).toEqual(payloads)
  await heard.close()
}
