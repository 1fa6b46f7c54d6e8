import { ManualClock } from '@leasehold/testkit'
import { pino } from 'pino'
import { beforeEach, expect, test } from 'vitest'
import type { OnBridgeEvent } from '../server/index.ts'
import { bridgeLog } from './bridge-log.ts'
import { JoinedLog } from './joined-log.ts'
import { logOptions } from './program-log.ts'

let clock: ManualClock
let lines: Readonly<Record<string, unknown>>[]
let joined: JoinedLog
let tell: OnBridgeEvent
beforeEach(() => {
  clock = new ManualClock()
  lines = []
  const base = { ...logOptions, base: null, timestamp: false }
  joined = new JoinedLog(clock)
  tell = bridgeLog(pino(base, { write: (line) => lines.push(JSON.parse(line)) }), joined)
})

const noPermission = new Error('NOPERM this user has no permissions to access one of the channels')
const unanswered = new Error('Redis did not answer within 2000 ms')

test('20,000 checks that Redis does not answer are two lines, with the reason and their number', async () => {
  for (let at = 0; at < 20_000; at++) tell({ type: 'store-asked', keys: 1, problem: unanswered })
  await clock.advance(10_000)
  const line = { level: 40, reason: unanswered.message, msg: 'Redis did not answer checks' }
  expect(lines).toEqual([line, { ...line, times: 19_999 }])
})

test('why releases are not heard is told once for each reason, and how often it failed before it works again', async () => {
  const lost = new Error('The connection that listens was lost', { cause: new Error('read ECONNRESET') })
  tell({ type: 'listening' })
  await clock.advance(60_000)
  tell({ type: 'disconnected', problem: lost })
  for (let second = 0; second < 25; second++) {
    tell({ type: 'disconnected', problem: noPermission })
    await clock.advance(1_000)
  }
  tell({ type: 'listening' })
  const line = { level: 40, reason: noPermission.message, msg: 'releases are not heard; connecting again' }
  expect(lines).toEqual([
    { level: 30, msg: 'listening for releases' },
    { ...line, reason: 'The connection that listens was lost: read ECONNRESET' },
    line,
    { ...line, times: 9 },
    { ...line, times: 10 },
    { ...line, times: 5 },
    { level: 30, msg: 'listening for releases' },
  ])
})

test('a connection that comes and goes is not two lines each time', async () => {
  for (let second = 0; second < 100; second++) {
    tell({ type: 'disconnected', problem: unanswered })
    tell({ type: 'listening' })
    await clock.advance(1_000)
  }
  expect(lines.length).toBeLessThanOrEqual(22)
})

test('what fails is told without what clients hang on their errors', () => {
  const error = Object.assign(new Error('WRONGPASS'), { code: 'E', command: { name: 'auth', args: ['sesame'] } })
  tell({ type: 'failed', error })
  tell({ type: 'failed', error: 'text' })
  expect(lines).toMatchObject([
    { level: 50, err: { type: 'Error', message: 'WRONGPASS', code: 'E' }, msg: 'a request failed' },
    { level: 50, err: { type: 'string', message: 'text' } },
  ])
  expect(JSON.stringify(lines)).not.toContain('sesame')
})

test('what happens all the time is not told, and at the end nothing is held back', () => {
  tell({ type: 'refused', status: 401 })
  tell({ type: 'check', reason: 'expiry', outcome: 'unanswered' })
  tell({ type: 'store-asked', keys: 3 })
  expect(lines).toEqual([])
  for (let at = 0; at < 3; at++) tell({ type: 'disconnected', problem: noPermission })
  joined.end()
  expect(lines).toMatchObject([{ reason: noPermission.message }, { times: 2 }])
})

test('that checks are answered again is told once, and before that how often they were not', async () => {
  tell({ type: 'store-asked', keys: 3, problem: unanswered })
  tell({ type: 'store-asked', keys: 3, problem: unanswered })
  tell({ type: 'store-asked', keys: 3 })
  tell({ type: 'store-asked', keys: 3 })
  expect(lines.map(({ msg, times }) => [msg, times])).toEqual([
    ['Redis did not answer checks', undefined],
    ['Redis did not answer checks', undefined],
    ['Redis answers checks again', undefined],
  ])
})
