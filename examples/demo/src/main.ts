/** The demo behind `npm run demo`. Exits with 0 if all its claims hold, otherwise with 1. */

import { parseArgs } from 'node:util'
import { runDemo } from './demo.ts'
import { paint } from './paint.ts'
import { summaryOf } from './summary.ts'

const { values } = parseArgs({
  options: {
    'without-locks': { type: 'boolean', default: false },
    embedded: { type: 'boolean', default: false },
    speed: { type: 'string', default: '1' },
  },
})

const say = (text: string): void => console.log(text)
const startedAt = performance.now()

const stop = new AbortController()
// Once: somebody who presses Ctrl-C twice does not want to wait for the cleanup.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stop.abort())
// The reader of a pipe may leave early, as `head` does.
process.stdout.on('error', () => stop.abort())

const speed = Number(values.speed)
if (!(speed > 0)) throw new Error('--speed takes a number above 0, such as 2 for twice as fast')

try {
  const options = {
    redisUrl: process.env['REDIS_URL'],
    withoutLocks: values['without-locks'],
    embedded: values.embedded,
    speed,
    say,
  }
  const findings = await runDemo(options, stop.signal)
  say(summaryOf(findings, performance.now() - startedAt))
  process.exitCode = findings.every(({ violations }) => violations.length === 0) ? 0 : 1
} catch (error) {
  if (stop.signal.aborted) {
    say('Interrupted: everything that was started is stopped')
    process.exitCode = 130
  } else {
    console.error(paint('red', `The demo could not be run: ${(error as Error).message}`))
    process.exitCode = 1
  }
}
