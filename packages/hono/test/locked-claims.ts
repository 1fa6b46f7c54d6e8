import { describe, expect, test } from 'vitest'
import type { ServedApp } from './served-app.ts'

/** What `locked` guarantees. */
export function lockedClaims(app: () => ServedApp): void {
  const ask = (path: string): Promise<Response> => fetch(app().url + path)
  const seen = async (): Promise<Record<string, number>> =>
    (await (await ask('/seen')).json()) as Record<string, number>
  const isHeld = async (key: string): Promise<boolean> => (await app().redis.command('EXISTS', `lock:${key}`)) === 1

  describe('a locked route', () => {
    test('20 requests at once for one key run one after another', async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/patient/one')))
      const bodies = await Promise.all(answers.map((answer) => answer.json()))
      expect(bodies).toEqual(Array(20).fill({ most: 1 }))
      expect(await isHeld('one')).toBe(false)
    })

    test('a lock that is held is a 409 or a 423, and says when to ask again', async () => {
      await app().redis.command('SET', 'lock:held', 'of another program', 'PX', 60_000)
      for (const [how, status] of [
        ['at-once', 409],
        ['or-423', 423],
      ] as const) {
        const answer = await ask(`/${how}/held`)
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, '1'])
        expect(await answer.json()).toMatchObject({ type: '/problems/contended', status })
      }
    })

    test('a Redis that does not answer is a 503, and passes', async () => {
      app().redis.pause()
      const answer = await ask('/at-once/paused').finally(() => app().redis.resume())
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
      expect(await answer.json()).toMatchObject({ type: '/problems/store-unavailable' })
      expect((await ask('/patient/paused')).status).toBe(200)
      await expect.poll(() => isHeld('paused')).toBe(false)
    })

    test('a client that leaves while its request waits leaves nothing behind', async () => {
      const holder = ask('/patient/left?do=wait')
      await app().gates.arrival('left')
      const before = await seen()
      const leave = app().asClient('/patient/left')
      await expect.poll(async () => (await seen())['contended']).toBe(Number(before['contended']) + 1)
      await leave()
      await expect.poll(async () => (await seen())['acquire-failed']).toBe(Number(before['acquire-failed']) + 1)
      app().gates.open('left')
      await (await holder).json()
      expect(await isHeld('left')).toBe(false)
    })

    test('a client that leaves while its handler runs has its lock given back', async () => {
      const leave = app().asClient('/patient/mid-way?do=wait')
      await app().gates.arrival('mid-way')
      await leave()
      app().gates.open('mid-way')
      await expect.poll(() => isHeld('mid-way'), { timeout: 15_000 }).toBe(false)
    })

    test('a handler that throws has its lock given back', async () => {
      const answer = await ask('/patient/thrown?do=throw')
      expect([answer.status, await answer.text(), await isHeld('thrown')]).toEqual([500, 'broken', false])
    })

    test('a response that streams has given its lock back when it begins', async () => {
      const answer = await ask('/patient/streamed?do=stream')
      await app().gates.arrival('streamed')
      expect(await isHeld('streamed')).toBe(false)
      app().gates.open('streamed')
      expect(await answer.text()).toBe('begun ended')
    })

    test('a lease that is taken away while the handler runs is told in a header', async () => {
      const running = ask('/patient/revoked?do=wait')
      await app().gates.arrival('revoked')
      await app().redis.command('DEL', 'lock:revoked')
      app().gates.open('revoked')
      const answer = await running
      expect([answer.status, answer.headers.get('lease-lost')]).toEqual([200, 'gone'])
    })
  })
}
