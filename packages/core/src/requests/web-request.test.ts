import { parsedBody, webRequest } from '@leasehold/core/requests'
import { describe, expect, it } from 'vitest'

const base = { method: 'POST', url: 'http://shop.example/payments?dry=1', rawHeaders: [], body: null }
const response = { writableEnded: false, once: () => undefined }

describe('a web request of what a server knows', () => {
  it('has its headers as they came, those that came twice included', () => {
    const rawHeaders = ['Idempotency-Key', 'a', 'X-One', '1', 'Idempotency-Key', 'b']
    const { headers } = webRequest({ ...base, rawHeaders, response })
    expect([headers.get('idempotency-key'), headers.get('x-one')]).toEqual(['a, b', '1'])
  })

  it('has of an HTTP/2 request only what is a header', () => {
    const rawHeaders = [':method', 'POST', ':path', '/payments', 'x-one', '1']
    expect([...webRequest({ ...base, rawHeaders, response }).headers]).toEqual([['x-one', '1']])
  })

  it.each([
    ['bytes', Uint8Array.of(0, 255)],
    ['a stream', new Blob([Uint8Array.of(0, 255)]).stream()],
  ])('has its body as %s, to the byte', async (_, body) => {
    const bytes = await webRequest({ ...base, body, response }).arrayBuffer()
    expect([...new Uint8Array(bytes)]).toEqual([0, 255])
  })

  it('has no body where its method has none', () => {
    expect(webRequest({ ...base, method: 'GET', body: 'x', response }).body).toBeNull()
  })

  it.each([
    ['before all is sent', false, true],
    ['after that', true, false],
  ])('has a signal for the client that leaves; %s', (_, writableEnded, isAborted) => {
    let close = (): void => undefined
    const once = (_event: 'close', listener: () => void): void => {
      close = listener
    }
    const { signal } = webRequest({ ...base, response: { writableEnded, once } })
    expect(signal.aborted).toBe(false)
    close()
    expect(signal.aborted).toBe(isAborted)
  })

  it('is aborted from the beginning if its client has left already', () => {
    expect(webRequest({ ...base, response: { ...response, destroyed: true } }).signal.aborted).toBe(true)
  })
})

describe('a body that a parser has read', () => {
  const came = { 'content-length': '9' }

  it.each([
    ['text', 'text/plain', 'text'],
    [{ a: 1 }, 'application/json; charset=utf-8', '{"a":1}'],
    [[1], 'application/vnd.shop+json', '[1]'],
    [null, 'application/json', 'null'],
  ])('%j of %s is %j', (parsed, type, body) => {
    expect(parsedBody(parsed, { ...came, 'content-type': type })).toBe(body)
  })

  it('is none if none came', () => {
    expect([parsedBody(undefined, {}), parsedBody(undefined, { 'content-length': '0' })]).toEqual([null, null])
  })

  it.each([
    ['as a form', { a: '1' }, { ...came, 'content-type': 'application/x-www-form-urlencoded' }],
    ['by who has kept nothing', undefined, { ...came, 'content-type': 'application/json' }],
    ['in chunks, by who has kept nothing', undefined, { 'transfer-encoding': 'chunked' }],
  ])('%s is a mistake of the program', (_, parsed, headers) => {
    expect(() => parsedBody(parsed, headers)).toThrow('let its parser keep the bytes')
  })
})
