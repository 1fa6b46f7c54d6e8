import { type Duration, parseDuration } from '@leasehold/core'
import type { CliCommand, Invocation } from '../cli-command.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../usage-error.ts'
import { commandsPerSecond, heapBytes, type ProcessLoad, redisBytes } from './model.ts'

export const capacity: CliCommand = {
  name: 'capacity',
  summary: 'reckon commands a second, memory and price',
  description:
    'Reckons what a number of locks costs: commands a second, memory in Redis and in each process, and the price where commands ' +
    'are billed. It asks no Redis. The formulas are those of docs/performance.md, which tests hold against a real one.',
  options: [
    { flags: '--processes <number>', description: 'how many there are', default: '1' },
    { flags: '--locks <number>', description: 'that each takes and gives back a second', default: '0' },
    { flags: '--per-command <number>', description: 'how many of these share a command, on average', default: '1' },
    {
      flags: '--held <number>',
      description: 'that each holds at once, for longer than a third of the ttl',
      default: '0',
    },
    { flags: '--ttl <time>', description: 'of those', default: '10s' },
    { flags: '--waiters <number>', description: 'calls of each that wait at once', default: '0' },
    { flags: '--awaited <number>', description: 'keys that they wait for; by default one if any waits' },
    {
      flags: '--recheck <time>',
      description: 'how often a waiting process checks; 30s behind the bridge',
      default: '1s',
    },
    { flags: '--hand-offs <number>', description: 'a second, between calls of one process', default: '0' },
    {
      flags: '--keys <number>',
      description: 'distinct keys that all take within ten minutes; by default each lock has a key of its own',
    },
    { flags: '--price <number>', description: 'of 100,000 commands' },
  ],
  examples: [
    [
      'leasehold capacity --processes 4 --locks 250 --keys 100000',
      '4 servers, a lock a request, 250 requests a second each',
    ],
    ['leasehold capacity --processes 10 --held 1000 --ttl 30s', '10 servers that hold 1,000 sessions each, for hours'],
    ['leasehold capacity --locks 40 --price 0.2 --json', 'with what a month of it costs'],
  ],
  connects: false,
  run,
}

const secondsPerMonth = 30 * 86_400
/** How long a fence record is kept by default, in seconds. */
const rememberedS = 600

async function run({ options, json, terminal }: Invocation): Promise<ExitCode> {
  const number = (name: string, least = 0): number => numberOf(name, options[name], least)
  const timeMs = (name: string): number => parseDuration(name, options[name] as Duration)
  const processes = number('processes', 1)
  const waiters = number('waiters')
  const load: ProcessLoad = {
    locksPerSecond: number('locks'),
    keysPerCommand: number('perCommand', 1),
    held: number('held'),
    ttlMs: timeMs('ttl'),
    waiters,
    awaitedKeys: options['awaited'] === undefined ? Math.min(waiters, 1) : number('awaited'),
    recheckMs: timeMs('recheck'),
    handOffsPerSecond: number('handOffs'),
  }
  const keys = options['keys'] === undefined ? processes * load.locksPerSecond * rememberedS : number('keys')
  const perSecond = processes * commandsPerSecond(load)
  const perMonth = perSecond * secondsPerMonth
  const result = {
    commandsPerSecond: perSecond,
    commandsPerMonth: perMonth,
    redisBytes: redisBytes(keys, processes * load.held),
    heapBytesPerProcess: heapBytes(load),
    ...(options['price'] !== undefined && { pricePerMonth: (perMonth / 1e5) * number('price') }),
  }
  if (json) terminal.write(`${JSON.stringify(result)}\n`)
  else terminal.write(lines(result).join('\n').concat('\n'))
  return exitCode.done
}

interface Result {
  readonly commandsPerSecond: number
  readonly commandsPerMonth: number
  readonly redisBytes: number
  readonly heapBytesPerProcess: number
  readonly pricePerMonth?: number
}

function lines({ pricePerMonth, ...result }: Result): readonly string[] {
  const rows = [
    ['commands a second', shown(result.commandsPerSecond)],
    ['commands in 30 days', shown(result.commandsPerMonth)],
    ['memory in Redis', `${shown(result.redisBytes / 1_000)} kB`],
    ['heap of each process', `${shown(result.heapBytesPerProcess / 1_000)} kB`],
    ...(pricePerMonth === undefined ? [] : [['price of 30 days', pricePerMonth.toFixed(2)]]),
  ] as const
  const width = Math.max(...rows.map(([, value]) => (value as string).length))
  return rows.map(([what, value]) => `${(what as string).padEnd(22)}${(value as string).padStart(width)}`)
}

/** Below ten, the first decimal matters. */
const shown = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })

function numberOf(name: string, given: string | boolean | undefined, least: number): number {
  const number = typeof given === 'string' && given.trim() !== '' ? Number(given) : Number.NaN
  if (Number.isFinite(number) && number >= least) return number
  const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  throw new UsageError(`--${flag} must be a number, ${least} or more`)
}
