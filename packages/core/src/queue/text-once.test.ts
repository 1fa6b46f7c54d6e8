import { callUntil } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import type { RedisTransport, ScriptCall, ScriptReply } from '../redis/redis-transport.ts'
import { textOnce } from './text-once.ts'

const done: ScriptReply = { type: 'value', value: 'done', resent: false }
const unknown: ScriptReply = { type: 'error', message: 'NOSCRIPT No matching script' }
const text = (key: string): ScriptCall => ({ command: 'EVAL', body: 'return 1', keys: [key], args: [] })

/** Servers, one for each key, that answer when they are told to. */
function servers() {
  const sent: { readonly call: ScriptCall; answer(reply: ScriptReply): void }[] = []
  const transport: RedisTransport = {
    commandDeadlineMs: 2_000,
    cluster: true,
    countsSubscribers: false,
    nodeOf: (key) => key,
    whenReady: () => undefined,
    run: ([call]) => new Promise((resolve) => sent.push({ call: call as ScriptCall, answer: (it) => resolve([it]) })),
  }
  const { run } = textOnce(transport, { sha1: 'f'.repeat(40) })
  const ask = (key: string, signal = new AbortController().signal) => run([text(key)], callUntil(signal))
  const commands = async (): Promise<readonly string[]> => {
    await new Promise(setImmediate)
    return sent.map(({ call: { command, keys } }) => `${command} ${keys}`)
  }
  return { sent, ask, commands }
}

it('only one sends the text to a node, and the others call it by its hash once that is answered', async () => {
  const { sent, ask, commands } = servers()
  const [first, second] = [ask('a'), ask('a'), ask('b')]
  expect(await commands()).toEqual(['EVAL a', 'EVAL b'])
  sent[0]?.answer(done)
  expect(await first).toEqual([done])
  expect(await commands()).toEqual(['EVAL a', 'EVAL b', 'EVALSHA a'])
  sent[2]?.answer(done)
  expect(await second).toEqual([done])
})

it('a text that nobody answers holds up the others no longer than its own caller waits', async () => {
  const { sent, ask, commands } = servers()
  const stop = new AbortController()
  const [, second] = [ask('a', stop.signal), ask('a')]
  stop.abort()
  expect(await commands()).toEqual(['EVAL a', 'EVALSHA a'])
  sent[1]?.answer(unknown)
  expect(await commands()).toEqual(['EVAL a', 'EVALSHA a', 'EVAL a'])
  sent[2]?.answer(done)
  expect(await second).toEqual([done])
})

it('a call that is over before its turn sends nothing', async () => {
  const { ask, commands } = servers()
  const stop = new AbortController()
  const [, second] = [ask('a'), ask('a', stop.signal)]
  stop.abort()
  expect(await second).toEqual([{ type: 'unknown', executed: 'no' }])
  expect(await commands()).toEqual(['EVAL a'])
})

it('a call that may have been sent twice is not sent a third time', async () => {
  const { sent, ask, commands } = servers()
  const [, second] = [ask('a'), ask('a')]
  sent[0]?.answer(done)
  await commands()
  sent[1]?.answer({ ...unknown, resent: true })
  expect(await second).toEqual([{ type: 'unknown', executed: 'unknown' }])
  expect(await commands()).toEqual(['EVAL a', 'EVALSHA a'])
})
