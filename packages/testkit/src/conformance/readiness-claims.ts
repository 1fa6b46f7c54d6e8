import { expect, it, type TestContext } from 'vitest'
import { callUntil } from '../call-until.ts'
import { freshKey, patient, script, value } from './transport-calls.ts'
import type { UnconnectedTransport, UseTransport } from './transport-under-test.ts'

/** Opens a transport that cannot reach its server yet; skips the claim if the adapter provides none. */
export type OpenUnconnected = (context: TestContext) => Promise<UnconnectedTransport>

export function readinessClaims(use: UseTransport, open: OpenUnconnected): void {
  it('a call that would be written at once has nothing to wait for', async (context) => {
    const transport = use(context)
    // One key: a cluster client may connect to a node only when it first needs it.
    const key = freshKey()
    expect(await transport.run([script("return 'warm'", [], key)], callUntil(patient()))).toEqual([value('warm')])
    expect(transport.whenReady(key, callUntil(patient()))).toBeUndefined()
  })

  it('while it cannot be written, it waits until it would, and has nothing to wait for then', async (context) => {
    await using unconnected = await open(context)
    const { transport } = unconnected
    const listeners = unconnected.listeners()
    const keys = [freshKey(), freshKey(), freshKey()]
    const whenReady = () => keys.map((key) => transport.whenReady(key, callUntil(patient())))
    const waits = whenReady()
    expect(waits).toEqual([expect.any(Promise), expect.any(Promise), expect.any(Promise)])
    await unconnected.connect()
    expect(await Promise.all(waits)).toEqual([undefined, undefined, undefined])
    expect(whenReady()).toEqual([undefined, undefined, undefined])
    const calls = keys.map((key) => script("return 'sent'", [], key))
    expect(await transport.run(calls, callUntil(patient()))).toEqual(calls.map(() => value('sent')))
    expect(unconnected.listeners(), 'no listener is left').toBe(listeners)
  })

  it('when the deadline is over first, it was not sent, and nobody else’s wait ends', async (context) => {
    await using unconnected = await open(context)
    const { transport } = unconnected
    const listeners = unconnected.listeners()
    const controller = new AbortController()
    let othersReply: unknown = 'none yet'
    const others = transport.whenReady(freshKey(), callUntil(patient()))?.then((reply) => {
      othersReply = reply
    })
    const wait = transport.whenReady(freshKey(), callUntil(controller.signal))
    controller.abort()
    expect(await wait).toMatchObject({ type: 'unknown', executed: 'no', cause: expect.any(Error) })
    expect(await transport.whenReady(freshKey(), callUntil(AbortSignal.abort()))).toMatchObject({ executed: 'no' })
    expect(othersReply).toBe('none yet')
    await unconnected.connect()
    await others
    expect(othersReply).toBeUndefined()
    expect(unconnected.listeners(), 'no listener is left').toBe(listeners)
  })
}
