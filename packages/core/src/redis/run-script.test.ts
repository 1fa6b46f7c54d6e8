import { callUntil } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import type { RedisTransport, ScriptCall, ScriptReply } from './redis-transport.ts'
import { runScript } from './run-script.ts'
import type { Script } from './scripts/script.ts'

const script: Script<[], [key: string], [each: string]> = { sha1: 'f'.repeat(40), text: 'return KEYS' }

type Respond = (call: ScriptCall) => ScriptReply
const value = (of: unknown, resent = false): ScriptReply => ({ type: 'value', value: of, resent })
const error = (message: string, resent?: boolean): ScriptReply => ({ type: 'error', message, resent })
/** A server that carries out every request: each request's outcome is its key. */
const executes: Respond = ({ keys }) => value(keys)

/** Runs the script once for each key, on a server that answers with `respond`. Resolves with each key's reply. */
async function run(keys: readonly string[], respond: Respond, cluster = false) {
  const trips: string[][] = []
  const calls: ScriptCall[] = []
  const transport: RedisTransport = {
    commandDeadlineMs: 2_000,
    cluster,
    countsSubscribers: !cluster,
    nodeOf: () => '',
    whenReady: () => undefined,
    async run(sent) {
      trips.push(sent.map((call) => call.keys.join()))
      calls.push(...sent)
      return sent.map(respond)
    },
  }
  const deadline = callUntil(new AbortController().signal)
  const encode = (key: string) => [key, `argument of ${key}`] as const
  const outcomes = await runScript(transport, script, [], 1, keys, encode, (reply) => reply, deadline)
  return { outcomes, trips, calls }
}

/** A server that refuses each command with this key in it. */
const refusing =
  (key: string, reply: ScriptReply): Respond =>
  (call) =>
    call.keys.includes(key) ? reply : executes(call)

describe('an error reply to several requests', () => {
  it.each([
    'ERR some error of a script',
    'WRONGTYPE Operation against a key holding the wrong kind of value',
    "CROSSSLOT Keys in request don't hash to the same slot",
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'NOPERM this user has no permissions to access one of the keys used as arguments',
    'NOPERM ACL failure in script: User some has no permissions to access one of the keys used as arguments',
    "OOM command not allowed when used memory > 'maxmemory'.",
  ])('is nobody’s answer: each is sent again alone, in one round trip and in order: %s', async (message) => {
    const { outcomes, trips, calls } = await run(['a', 'bad', 'c'], refusing('bad', error(message)))
    expect(trips).toEqual([['a,bad,c'], ['a', 'bad', 'c']])
    expect(calls.map(({ args }) => args.join())).toEqual([
      'argument of a,argument of bad,argument of c',
      'argument of a',
      'argument of bad',
      'argument of c',
    ])
    expect(outcomes).toMatchObject([{ value: 'a' }, { type: 'error', message }, { value: 'c' }])
  })

  it.each([
    'LOADING Redis is loading the dataset in memory',
    'BUSY Redis is busy running a script.',
    "READONLY You can't write against a read only replica.",
    'MASTERDOWN Link with MASTER is down',
    'CLUSTERDOWN The cluster is down',
    'NOREPLICAS Not enough good replicas to write.',
    'MISCONF Redis is configured to save RDB snapshots',
    'NOAUTH Authentication required.',
  ])('is everybody’s answer if it is about the server: %s', async (message) => {
    const { outcomes, trips } = await run(['a', 'b'], () => error(message))
    expect(trips).toEqual([['a,b']])
    expect(outcomes).toMatchObject([error(message), error(message)])
  })

  it.each([
    ['ERR some error of a script', true],
    ['NOPERM ACL failure in script: User some has no permissions to access one of the keys', true],
    ['NOPERM No permissions to access a key', false],
    ["OOM command not allowed when used memory > 'maxmemory'.", false],
    ["CROSSSLOT Keys in request don't hash to the same slot", false],
    ['TRYAGAIN Multiple keys request during rehashing of slot', false],
  ])('%s: that its requests were sent twice is said: %s', async (message, resent) => {
    const { outcomes } = await run(['a', 'bad'], refusing('bad', error(message)))
    expect(outcomes).toEqual([value('a', resent), resent ? error(message, true) : { type: 'error', message }])
  })

  it('that the client had sent twice itself stays one, whatever the error', async () => {
    const { outcomes } = await run(['a', 'bad'], refusing('bad', error('TRYAGAIN', true)))
    expect(outcomes).toEqual([value('a', true), error('TRYAGAIN', true)])
  })

  it('on a cluster is about the requests of its command only', async () => {
    const { outcomes, trips } = await run(['a{1}', 'b{2}', 'bad{1}'], refusing('bad{1}', error('ERR')), true)
    expect(trips).toEqual([
      ['a{1},bad{1}', 'b{2}'],
      ['a{1}', 'bad{1}'],
    ])
    expect(outcomes).toEqual([value('a{1}', true), value('b{2}'), error('ERR', true)])
  })
})

it('an error reply to a single request is its answer', async () => {
  const { outcomes, trips } = await run(['bad'], refusing('bad', error('ERR')))
  expect(trips).toEqual([['bad']])
  expect(outcomes).toMatchObject([error('ERR')])
})

it('a script that the server has forgotten is sent as text, and after an error also to each alone', async () => {
  const forgetful: Respond = (call) =>
    call.command === 'EVAL' ? refusing('bad', error('ERR'))(call) : error('NOSCRIPT')
  const { outcomes, trips, calls } = await run(['a', 'bad'], forgetful)
  expect(trips).toEqual([['a,bad'], ['a,bad'], ['a', 'bad']])
  expect(calls.map(({ command }) => command)).toEqual(['EVALSHA', 'EVAL', 'EVAL', 'EVAL'])
  expect(outcomes).toEqual([value('a', true), error('ERR', true)])
})

it('a reply to a call that the client sent twice says so of each request', async () => {
  const { outcomes } = await run(['a', 'b'], ({ keys }) => value(keys, true))
  expect(outcomes).toEqual([value('a', true), value('b', true)])
})

describe('a request that is repeated alone', () => {
  it('may have been carried out in company, though the repeat was certainly not sent', async () => {
    let trips = 0
    const { outcomes } = await run(['a', 'b'], () =>
      ++trips === 1 ? error('ERR half of it is done') : { type: 'unknown', executed: 'no' },
    )
    expect(outcomes).toEqual([
      { type: 'unknown', executed: 'unknown' },
      { type: 'unknown', executed: 'unknown' },
    ])
  })
})
