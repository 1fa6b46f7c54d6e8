import { expect, it } from 'vitest'
import { callUntil } from '../call-until.ts'
import { freshKey, patient, script, value } from './transport-calls.ts'
import type { UseTransport } from './transport-under-test.ts'

const append =
  "local log = (redis.call('GET', KEYS[1]) or '') .. ARGV[1] redis.call('SET', KEYS[1], log, 'PX', 10000) return log"

export function callClaims(use: UseTransport): void {
  it('no call, no reply', async (context) => {
    expect(await use(context).run([], callUntil(patient()))).toEqual([])
  })

  it('keys and arguments arrive as they were given, in order', async (context) => {
    const key = freshKey()
    const keys = [key, `${key} {x} "1"`, `${key}\r\n🔒`]
    const args = ['', '1', '1e3', 'two words', '"']
    const call = {
      command: 'EVAL' as const,
      body: 'return {KEYS, ARGV, #KEYS, #ARGV}',
      keys,
      args,
    }
    expect(await use(context).run([call], callUntil(patient()))).toEqual([value([keys, args, 3, 5])])
  })

  it('a script that was evaluated once is known by its sha1', async (context) => {
    const transport = use(context)
    const key = freshKey()
    const body = `return {ARGV[1], '${key}'}`
    const sha = await sha1(body)
    const byText = script(body, ['first'], key)
    const bySha = {
      ...script(sha, ['second'], key),
      command: 'EVALSHA' as const,
    }
    expect(await transport.run([byText], callUntil(patient()))).toEqual([value(['first', key])])
    expect(await transport.run([bySha], callUntil(patient()))).toEqual([value(['second', key])])
  })

  it('several calls are carried out and answered in order', async (context) => {
    const key = freshKey()
    const calls = ['a', 'b', 'c', 'd'].map((letter) => script(append, [letter], key))
    expect(await use(context).run(calls, callUntil(patient()))).toEqual(['a', 'ab', 'abc', 'abcd'].map(value))
  })

  it('a call that fails fails alone: those before and after it are carried out and answered', async (context) => {
    const key = freshKey()
    const calls = [
      script(append, ['a'], key),
      script("return redis.error_reply('TEAPOT short')", [], key),
      { ...script('0'.repeat(40), [], key), command: 'EVALSHA' as const },
      script(append, ['b'], key),
    ]
    expect(await use(context).run(calls, callUntil(patient()))).toEqual([
      value('a'),
      { type: 'error', message: expect.stringMatching(/^TEAPOT short/) },
      { type: 'error', message: expect.stringMatching(/^NOSCRIPT/) },
      value('ab'),
    ])
  })

  it('many calls with keys in many places are answered in order', async (context) => {
    const calls = Array.from({ length: 200 }, (_, i) => script('return ARGV[1]', [String(i)]))
    expect(await use(context).run(calls, callUntil(patient()))).toEqual(calls.map((_, i) => value(String(i))))
  })

  it('runs at the same time do not mix up their replies', async (context) => {
    const transport = use(context)
    const runs = Array.from({ length: 50 }, (_, run) =>
      transport.run(
        ['x', 'y'].map((which) => script('return ARGV[1]', [`${run}${which}`])),
        callUntil(patient()),
      ),
    )
    expect(await Promise.all(runs)).toEqual(runs.map((_, run) => [value(`${run}x`), value(`${run}y`)]))
  })

  it('it says how long a command may stay unanswered, and whether keys live on several nodes', (context) => {
    const { commandDeadlineMs, cluster } = use(context)
    expect(commandDeadlineMs).toBeGreaterThan(0)
    expect(cluster).toBeTypeOf('boolean')
  })
}

async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
