import { describe, expect, it, vi } from 'vitest'
import { callUntil } from './call-until.ts'

/** A callback and a listener that is an object, both told by the same deadline. */
const listening = () => ({ callback: vi.fn(), object: { onSpanEnd: vi.fn() } })

describe('a call until a signal', () => {
  it('tells callbacks and objects once, when the signal is aborted', () => {
    const abort = new AbortController()
    const call = callUntil(abort.signal, 50)
    const { callback, object } = listening()
    call.onOver(callback)
    call.add(object)
    expect(call).toMatchObject({ withinMs: 50, isOver: false })
    expect(callback).not.toHaveBeenCalled()
    abort.abort()
    expect(call.isOver).toBe(true)
    for (const told of [callback, object.onSpanEnd]) expect(told).toHaveBeenCalledOnce()
  })

  it('tells at once those that come later', () => {
    const call = callUntil(AbortSignal.abort())
    const { callback, object } = listening()
    call.onOver(callback)
    call.add(object)
    for (const told of [callback, object.onSpanEnd]) expect(told).toHaveBeenCalledOnce()
  })

  it('tells none that was withdrawn', () => {
    const abort = new AbortController()
    const call = callUntil(abort.signal)
    const { callback, object } = listening()
    call.onOver(callback)()
    call.add(object)
    call.remove(object)
    abort.abort()
    for (const told of [callback, object.onSpanEnd]) expect(told).not.toHaveBeenCalled()
  })
})
