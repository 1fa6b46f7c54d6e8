import { type ListedLock, listLocks } from '@leasehold/core/listing'
import type { CliCommand, Invocation } from '../cli-command.ts'
import { openConnection } from '../connection/connection.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { lockColumns, waitersOf } from '../output/lock-columns.ts'
import { prefixHint } from '../output/prefix-hint.ts'
import { tableLines } from '../output/table.ts'
import { UsageError } from '../usage-error.ts'

export const ls: CliCommand = {
  name: 'ls',
  args: '[pattern]',
  summary: 'list the locks that are held or waited for',
  description:
    'Lists the locks that are held or waited for, of every kind: who has them, since when, for how long, and who waits. ' +
    'It goes through the database by SCAN, in small steps, and holds up nobody.\n\n' +
    'WAITING counts those in the lock’s queue. Where there is none, it counts the processes that listen for its release ' +
    '("2 proc"), each for all of its waiters; who waits by a bridge is not among them.',
  options: [
    { flags: '--sort <column>', description: 'by key, held, expires or waiting', default: 'key' },
    { flags: '--limit <number>', description: 'the first ones only' },
  ],
  examples: [
    ['leasehold ls', 'every lock under the prefix'],
    ["leasehold ls 'order:*' --sort held", 'those of orders, the longest held first'],
    ["leasehold ls --json | jq -r 'select(.holders > 0 and .expiresInMs == null) | .key'", 'those that never expire'],
  ],
  connects: true,
  run,
}

async function run({ args: [pattern], options, json, settings, terminal, signal }: Invocation): Promise<ExitCode> {
  const order = orders[options['sort'] as keyof typeof orders]
  if (!order) throw new UsageError(`--sort must be one of ${Object.keys(orders).join(', ')}`)
  const limit = limitOf(options['limit'])
  const given = settings()
  await using connection = await openConnection(given, signal)
  const found: ListedLock[] = []
  for await (const lock of listLocks(connection.locks, { pattern, signal })) found.push(lock)
  const shown = found.sort((one, other) => order(one, other) || byKey(one, other)).slice(0, limit)
  if (json) for (const lock of shown) terminal.write(`${JSON.stringify(lock)}\n`)
  else if (found.length === 0) {
    terminal.tell(
      `No locks${pattern ? ' match' : ''} under this prefix\n${prefixHint('pattern', pattern ?? '', given)}`,
    )
  } else {
    const { colors, columns } = terminal
    const lines = tableLines(lockColumns(colors, Date.now()), shown, columns, colors.bold)
    terminal.write(`${lines.join('\n')}\n`)
    if (shown.length < found.length) terminal.tell(`${found.length - shown.length} more\n`)
  }
  return exitCode.done
}

const byKey = (one: ListedLock, other: ListedLock): number => (one.key < other.key ? -1 : 1)

const orders = {
  key: () => 0,
  // A lock whose hold has no known beginning comes last.
  held: (one: ListedLock, other: ListedLock) =>
    (one.since?.getTime() ?? Infinity) - (other.since?.getTime() ?? Infinity) ||
    // Within a millisecond, the fence decides.
    (one.fence ?? 0) - (other.fence ?? 0),
  expires: (one: ListedLock, other: ListedLock) => (one.expiresInMs ?? Infinity) - (other.expiresInMs ?? Infinity) || 0,
  waiting: (one: ListedLock, other: ListedLock) => waitersOf(other) - waitersOf(one),
}

function limitOf(given: string | boolean | undefined): number {
  if (given === undefined) return Infinity
  const limit = Number(given)
  if (!Number.isSafeInteger(limit) || limit < 1) throw new UsageError('--limit must be a whole number from 1')
  return limit
}
