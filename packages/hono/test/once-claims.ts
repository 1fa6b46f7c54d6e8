import { describe, expect, test } from 'vitest'
import type { ServedApp } from './served-app.ts'

interface Sent {
  readonly key?: string | null
  readonly does?: string
  readonly tenant?: string
  readonly body?: string
  readonly method?: string
  readonly origin?: string
}

/** The cases of `@leasehold/idempotency`, through the middleware. */
export function onceClaims(app: () => ServedApp): void {
  const send = (
    key: string | null,
    { does, tenant, body = 'x', method = 'POST', origin }: Sent = {},
  ): Promise<Response> =>
    fetch(`${app().url}/once/payments`, {
      method,
      redirect: 'manual',
      ...(method === 'POST' && { body }),
      headers: {
        ...(key !== null && { 'idempotency-key': key }),
        ...(does !== undefined && { 'x-do': does }),
        ...(tenant !== undefined && { 'x-tenant': tenant }),
        ...(origin !== undefined && { origin }),
      },
    })
  const runsOf = async (key: string): Promise<unknown> => (await fetch(`${app().url}/once/runs/${key}`)).json()
  /** The status, the type of a problem, and whether it is a replay. */
  const said = async (response: Promise<Response>): Promise<string> => {
    const { status, headers } = await response
    const isProblem = headers.get('content-type') === 'application/problem+json'
    const { type = '' } = isProblem ? ((await (await response).json()) as { type: string }) : {}
    return [status, type, headers.has('idempotency-replayed') ? 'replayed' : ''].filter(String).join(' ')
  }

  describe('an idempotent route', () => {
    test('runs once for 30 requests at once; the others are told to come back, and then get the answer', async () => {
      const answers: string[] = []
      const all = Array.from({ length: 30 }, () =>
        said(send('k50', { does: 'wait' })).then((each) => answers.push(each)),
      )
      await expect.poll(() => answers.length).toBe(29)
      app().gates.open('k50')
      await Promise.all(all)
      expect(answers.sort()).toEqual(['201', ...Array(29).fill('409 /problems/in-progress')])
      expect([await said(send('k50')), await runsOf('k50')]).toEqual(['201 replayed', 1])
    })

    test('refuses another body under the same key, while the first runs and after', async () => {
      const first = send('k51', { does: 'wait' })
      await app().gates.arrival('k51')
      expect(await said(send('k51', { body: 'y' }))).toBe('422 /problems/key-reused')
      app().gates.open('k51')
      await first
      expect(await said(send('k51', { body: 'y' }))).toBe('422 /problems/key-reused')
      expect([await said(send('k51')), await runsOf('k51')]).toEqual(['201 replayed', 1])
    })

    test('keeps the same key of two tenants apart', async () => {
      const by = async (tenant: string) => (await (await send('k52', { tenant })).json()) as { by: string }
      expect([(await by('u')).by, (await by('v')).by, (await by('u')).by]).toEqual(['u', 'v', 'u'])
      expect(await runsOf('k52')).toBe(2)
    })

    test.each([
      ['503', '503', '201'],
      ['429', '429', '201'],
      ['400', '400', '400 replayed'],
      ['throw', '500', '409 /problems/in-doubt'],
      ['redirect', '303', '303 replayed'],
      ['204', '204', '204 replayed'],
    ])('that answers by %s is %s, and its retry %s', async (does, first, second) => {
      expect([await said(send(`k53-${does}`, { does })), await said(send(`k53-${does}`))]).toEqual([first, second])
    })

    test('that streams is replayed to the byte', async () => {
      const bytes = async () => [...new Uint8Array(await (await send('k54', { does: 'stream' })).arrayBuffer())]
      expect([await bytes(), await bytes()]).toEqual([
        [0x00, 0xff, 0xfe, 0x80, 1],
        [0x00, 0xff, 0xfe, 0x80, 1],
      ])
    })

    test.each([
      ['answer, and replayed', 'gzip', ['1', '1']],
      ['answer that is not recorded', 'gzip-503', ['1', '2']],
    ])('that has compressed its %s, has it compressed once', async (_, does, texts) => {
      const text = async () => (await send(`k57-${does}`, { does })).text()
      expect([await text(), await text()]).toEqual(texts)
    })

    test('replays the headers that say what was made, and says so to scripts of other origins', async () => {
      const [first, second] = [
        await send('k55', { origin: 'https://shop.example' }),
        await send('k55', { origin: 'https://shop.example' }),
      ]
      const kept = ({ headers }: Response) =>
        ['content-type', 'location', 'etag', 'x-receipt'].map((name) => headers.get(name))
      expect(kept(second)).toEqual(['application/json; charset=utf-8', '/payments/k55', '"1"', '1'])
      expect(kept(second)).toEqual(kept(first))
      expect(await second.text()).toBe(await first.text())
      expect([first.headers.has('set-cookie'), second.headers.has('set-cookie')]).toEqual([true, false])
      expect(second.headers.get('access-control-expose-headers')).toMatch(/idempotency-replayed/i)
    })

    test.each([
      ['no key', null, '400 /problems/key-missing'],
      ['an empty key', '', '400 /problems/key-invalid'],
      ['two keys', 'a, b', '400 /problems/key-invalid'],
      ['a key of 300 characters', 'a'.repeat(300), '400 /problems/key-invalid'],
    ])('refuses %s', async (_, key, answer) => {
      expect(await said(send(key))).toBe(answer)
    })

    test('takes a key with quotes and without for one, and lets a GET pass', async () => {
      expect([await said(send('k56')), await said(send('"k56"'))]).toEqual(['201', '201 replayed'])
      expect([await said(send('k56', { method: 'GET' })), await said(send('k56', { method: 'GET' }))]).toEqual([
        '201',
        '201',
      ])
    })

    test('of a Redis that does not answer is a 503, and runs nothing', async () => {
      app().redis.pause()
      const answer = await said(send('paused')).finally(() => app().redis.resume())
      expect([answer, await runsOf('paused')]).toEqual(['503 /problems/store-unavailable', 0])
    })
  })
}
