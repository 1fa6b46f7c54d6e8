import { describe, expect, it, vi } from 'vitest'
import { Span } from './span.ts'

describe('a span', () => {
  it('tells each listener once, whether it was added before the end or after', () => {
    const span = new Span()
    const [before, after] = [vi.fn(), vi.fn()]
    span.onOver(before)
    span.end('enough')
    span.end('again')
    span.onOver(after)
    expect([before, after].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
    expect(span).toMatchObject({ isOver: true, reason: 'enough' })
  })

  it('does not tell a listener that was withdrawn', () => {
    const span = new Span()
    const callback = vi.fn()
    span.onOver(callback)()
    span.end()
    expect(callback).not.toHaveBeenCalled()
  })

  it('tells listeners that are objects, except those that were removed', () => {
    const span = new Span()
    const [told, removed] = [{ onSpanEnd: vi.fn() }, { onSpanEnd: vi.fn() }]
    span.add(told)
    span.add(removed)
    span.remove(removed)
    span.end()
    expect(told.onSpanEnd).toHaveBeenCalledOnce()
    expect(removed.onSpanEnd).not.toHaveBeenCalled()
  })

  it('tells every listener, though one withdraws another meanwhile', () => {
    const span = new Span()
    const told: string[] = []
    let withdraw: (() => void) | undefined
    span.onOver(() => {
      told.push('first')
      withdraw?.()
    })
    withdraw = span.onOver(() => told.push('second'))
    span.end()
    expect(told).toEqual(['first', 'second'])
  })

  it('has a signal that is made when it is read, and aborts with the reason', () => {
    const making = vi.spyOn(globalThis, 'AbortController')
    const span = new Span()
    span.onOver(() => undefined)
    expect(making).not.toHaveBeenCalled()
    const { signal } = span
    expect([signal, signal.aborted]).toEqual([span.signal, false])
    span.end('enough')
    expect([signal.aborted, signal.reason]).toEqual([true, 'enough'])
    making.mockRestore()

    const over = new Span()
    over.end('before')
    expect(over.signal).toMatchObject({ aborted: true, reason: 'before' })
  })
})
