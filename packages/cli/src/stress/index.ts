import { randomUUID } from 'node:crypto'
import { type Duration, parseDuration, systemClock } from '@leasehold/core'
import { checkAcquireOptions, keyLayout, withDeadline } from '@leasehold/core/adapter'
import type { CliCommand, Invocation } from '../cli-command.ts'
import { type Connection, openConnection } from '../connection/connection.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../usage-error.ts'
import type { StressOrders } from './orders.ts'
import { runProcesses } from './processes.ts'
import { verdictOn } from './verdict.ts'
import { verdictLines } from './verdict-lines.ts'

export const stress: CliCommand = {
  name: 'stress',
  summary: 'let processes contend, and check that no two hold the lock at once',
  description:
    'Starts processes that contend for one lock of this Redis, and judges from what they write down: whether two ever held it ' +
    'at once, and whether each fence was higher than the one before. It uses a key of its own under the prefix, and removes it. ' +
    'It is a check of a setup, with its proxies, options and versions, for as long as it runs; it proves nothing about a ' +
    'failover that does not happen meanwhile. If nobody ever gets the lock, it exits with 3. Each hold takes two commands, which count where commands are billed.',
  options: [
    { flags: '--processes <number>', description: '1 to 32', default: '4' },
    { flags: '--callers <number>', description: 'calls of each that contend at once, 1 to 100', default: '2' },
    { flags: '--for <time>', description: 'at most 5m', default: '5s' },
    { flags: '--hold <time>', description: 'the longest hold, at most --for', default: '5ms' },
    { flags: '--ttl <time>', description: 'of the leases', default: '2s' },
  ],
  examples: [
    ['leasehold stress', 'four processes, five seconds'],
    ['leasehold stress --processes 16 --for 1m --json', 'for a pipeline: exits with 1 if the promise was not kept'],
  ],
  connects: true,
  run,
}

const longestMs = 300_000

async function run({ options, json, settings, terminal, signal }: Invocation): Promise<ExitCode> {
  const processes = wholeNumber('processes', options['processes'], 32)
  const timeMs = (name: string): number => parseDuration(name, options[name] as Duration)
  const orders: StressOrders = {
    settings: settings(),
    key: `leasehold-stress-${randomUUID()}`,
    callers: wholeNumber('callers', options['callers'], 100),
    ...{ forMs: timeMs('for'), holdMs: timeMs('hold'), ttlMs: timeMs('ttl') },
  }
  if (orders.forMs > longestMs) throw new UsageError('--for must be at most 5m')
  if (orders.holdMs > orders.forMs) throw new UsageError('--hold must be at most --for')
  checkAcquireOptions({ ttl: orders.ttlMs })
  // Before any process is started: this reports what is wrong with the connection.
  await using connection = await openConnection(orders.settings, signal)
  await connection.locks.inspect(orders.key)
  if (!json)
    terminal.tell(
      `${processes} processes with ${orders.callers} callers each contend for ${orders.forMs / 1_000} s …\n`,
    )
  try {
    const reports = await runProcesses(processes, orders, signal)
    const failures = reports.flatMap((report) => report.failures)
    const timeouts = reports.reduce((sum, report) => sum + report.timeouts, 0)
    const verdict = verdictOn(reports.flatMap(({ holds }) => holds))
    const result = {
      ...verdict,
      timeouts,
      failures: failures.length,
      failure: failures[0] ?? null,
      forMs: orders.forMs,
    }
    terminal.write(json ? `${JSON.stringify(result)}\n` : `${verdictLines(result, terminal.colors).join('\n')}\n`)
    // If nobody ever held the lock, there is no answer.
    if (verdict.holds === 0) return exitCode.unavailable
    return verdict.kept ? exitCode.done : exitCode.no
  } finally {
    await removeKeys(connection, orders)
  }
}

/** Removes the keys of the test. The fence record would expire by itself, after ten minutes. */
async function removeKeys({ transport }: Connection, { settings, key }: StressOrders): Promise<void> {
  const keys = keyLayout(settings.prefix)
  const remove = { command: 'EVAL', body: `return redis.call('DEL', unpack(KEYS))`, args: [] } as const
  const calls = [{ ...remove, keys: [keys.lock(key), keys.fence(key)] }]
  await withDeadline(systemClock, transport.commandDeadlineMs, (call) => transport.run(calls, call))
}

function wholeNumber(name: string, given: string | boolean | undefined, most: number): number {
  const number = Number(given)
  if (Number.isSafeInteger(number) && number >= 1 && number <= most) return number
  throw new UsageError(`--${name} must be a whole number from 1 to ${most}`)
}
