import { describe, expect, test } from 'vitest'
import { fenceGate } from './fence-gate.ts'
import { fenceHeader, writeFence } from './fence-header.ts'

const carrying = (fence: number): Headers => {
  const headers = new Headers()
  writeFence(headers, fence)
  return headers
}
const malformed = new Headers({ [fenceHeader]: 'soon' })

/** What a resource keeps: its data, and the highest fence it has seen. */
class Printer {
  data = 'nothing'
  #highest = 0

  /** Compares and remembers in one step. */
  readonly accept = async (fence: number): Promise<boolean> => {
    if (fence < this.#highest) return false
    this.#highest = fence
    return true
  }

  print(fence: number, data: string): boolean {
    if (fence < this.#highest) return false
    this.#highest = fence
    this.data = data
    return true
  }
}

describe('a paused holder with fence 1 whose request comes after that of its successor with fence 2', () => {
  test('wins where nobody reads the header', () => {
    const printer = new Printer()
    for (const data of ['from B', 'from A']) printer.data = data
    expect(printer.data).toBe('from A')
  })

  test('is answered 412 by the gate', async () => {
    const printer = new Printer()
    expect(await fenceGate(carrying(2), printer.accept)).toBeNull()
    expect(await fenceGate(carrying(1), printer.accept)).toMatchObject({ status: 412 })
  })

  test('wins if it is paused between a gate that only compares and its write: the documented limit', async () => {
    const printer = new Printer()
    const a = await fenceGate(carrying(1), printer.accept)
    const b = await fenceGate(carrying(2), printer.accept)
    if (b === null) printer.data = 'from B'
    if (a === null) printer.data = 'from A'
    expect(printer.data).toBe('from A')
  })

  test('cannot win where the function that accepts is the write', async () => {
    const printer = new Printer()
    const request = (fence: number, data: string) =>
      fenceGate(carrying(fence), async (seen) => printer.print(seen, data))
    expect(await request(2, 'from B')).toBeNull()
    expect(await request(1, 'from A')).toMatchObject({ status: 412 })
    expect(printer.data).toBe('from B')
  })
})

describe('a fence gate', () => {
  test('compares with a number: equal and higher pass, lower is told what was highest', async () => {
    expect(await fenceGate(carrying(5), 5)).toBeNull()
    expect(await fenceGate(carrying(6), 5)).toBeNull()
    const refusal = await fenceGate(carrying(4), 5)
    expect(refusal?.headers.get('content-type')).toBe('application/problem+json')
    expect(refusal?.headers.get('cache-control')).toBe('no-store')
    expect(refusal?.status).toBe(412)
    expect(await refusal?.json()).toEqual({
      type: 'about:blank',
      title: 'Precondition Failed',
      status: 412,
      detail: expect.stringContaining('higher fence'),
      highest: 5,
    })
  })

  test('lets every fence pass where none was seen yet', async () => {
    expect(await fenceGate(carrying(1), null)).toBeNull()
    expect(await fenceGate(carrying(1), 0)).toBeNull()
  })

  test('takes no answer but true for yes', async () => {
    for (const answer of [false, undefined, null, 1, 'true', {}]) {
      const refusal = await fenceGate(carrying(1), (() => answer) as unknown as () => boolean)
      expect(refusal?.status, String(answer)).toBe(412)
    }
    for (const highest of [Number.NaN, undefined]) {
      expect(await fenceGate(carrying(1), highest as number)).toMatchObject({ status: 412 })
    }
  })

  test('answers 428 without the header, or lets it pass where that is allowed', async () => {
    const never = () => expect.unreachable()
    const refusal = await fenceGate(new Headers(), never)
    expect(refusal?.status).toBe(428)
    expect(await refusal?.json()).toMatchObject({
      title: 'Precondition Required',
      detail: expect.stringContaining(fenceHeader),
    })
    expect(await fenceGate(new Headers(), never, { required: false })).toBeNull()
  })

  test('answers 400 to a malformed header, required or not', async () => {
    for (const required of [true, false]) {
      const refusal = await fenceGate(malformed, 1, { required })
      expect(refusal?.status).toBe(400)
      expect(await refusal?.json()).toMatchObject({ status: 400, title: 'Bad Request' })
    }
  })

  test('does not take the failure of a store for an answer', async () => {
    const down = new Error('down')
    await expect(fenceGate(carrying(1), () => Promise.reject(down))).rejects.toBe(down)
  })
})
