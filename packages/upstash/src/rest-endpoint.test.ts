import { inspect } from 'node:util'
import { Redis } from '@upstash/redis'
import { describe, expect, it } from 'vitest'
import { fetchStore } from './fetch-store.ts'
import { fetchTransport } from './fetch-transport.ts'
import { checkedEndpoint } from './rest-endpoint.ts'
import { upstashStore } from './upstash-store.ts'

const url = 'https://eu1-lease.example'
const token = 'AX0-token_with=all.kinds~of/characters+'

const refused = (option: string): unknown => expect.objectContaining({ code: 'INVALID_OPTION', option })

describe('an endpoint', () => {
  it.each([
    ['https://eu1-lease.example', 'https://eu1-lease.example'],
    ['http://127.0.0.1:8079/', 'http://127.0.0.1:8079'],
    ['http://[::1]:8079', 'http://[::1]:8079'],
    ['HTTPS://host/path/to//', 'HTTPS://host/path/to'],
  ])('has the URL %s, without a slash at its end', (given, used) => {
    expect(checkedEndpoint({ url: given, token }).url).toBe(used)
  })

  it.each([
    undefined,
    null,
    '',
    'host.example',
    '//host.example',
    'rediss://host.example:6379',
    'https://',
    'https:///host.example',
    'https://host.example:99999',
    'https://host.example?x=1',
    'https://host.example#x',
    'https://user:password-of-mine@host.example',
    'https://host.example\\path',
    ' https://host.example',
    'https://host.example\n',
  ])('with the URL %j is refused by name', (bad) => {
    expect(() => fetchTransport({ url: bad as never, token })).toThrow(refused('url'))
  })

  it.each([undefined, null, '', ' ', 'two words', 'newline-at-the-end\n', 'tökén', 5, {}])(
    'with the token %j is refused by name',
    (bad) => {
      expect(() => fetchTransport({ url, token: bad as never })).toThrow(refused('token'))
    },
  )

  it.each([
    ['url', undefined],
    ['token', undefined],
    ['url', null],
    ['url', ''],
    ['token', ''],
  ])('with the %s %s says that it is: an unset variable of the environment', (option, value) => {
    expect(() => fetchStore({ url, token, [option]: value })).toThrow(
      `Option "${option}" must be set: it is empty or undefined`,
    )
  })

  it('takes no option that it does not know: a prefix under another name would be left out in silence', () => {
    expect(() => fetchStore({ url, token, keyPrefix: 'app:' } as never)).toThrow(refused('keyPrefix'))
    expect(() => fetchStore(undefined as never)).toThrow(refused('url'))
  })

  it('takes undefined for every optional field, as if it were left out', () => {
    const optional = { fetch: undefined, prefix: undefined, fenceMemory: undefined }
    expect(fetchStore({ url, token, ...optional }).prefix).toBe('lock:')
    upstashStore(new Redis({ url, token }), { prefix: undefined, fenceMemory: undefined })
  })

  it('takes a function for fetch, not an object that has one', () => {
    expect(() => fetchTransport({ url, token, fetch: { fetch } as never })).toThrow(refused('fetch'))
    expect(fetchTransport({ url, token, fetch })).toMatchObject({ commandDeadlineMs: 5_000, cluster: false })
  })

  it('shows neither the URL nor the token in its errors', () => {
    for (const bad of [
      { url: 'https://user:password-of-mine@host.example', token },
      { url, token: 'token-of-mine\n' },
    ]) {
      const error = inspect(
        thrownBy(() => fetchStore(bad)),
        { depth: 10, showHidden: true },
      )
      expect(error).not.toMatch(/of-mine/)
    }
  })

  it('of a store takes the store’s options, too', () => {
    expect(() => fetchStore({ url, token, prefix: '' })).toThrow(refused('prefix'))
    expect(() => fetchStore({ url, token, fenceMemory: 0 })).toThrow(refused('fenceMemory'))
    expect(fetchStore({ url, token, prefix: 'locks:', fenceMemory: '1h' }).commandDeadlineMs).toBe(5_000)
  })
})

/** The message and properties of what was thrown, without its stack, which quotes this file. */
function thrownBy(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return Object.assign(error as Error, { stack: '' })
  }
  throw new Error('Nothing was thrown')
}
