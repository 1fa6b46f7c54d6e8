import { type Duration, parseDuration } from '@leasehold/core'
import { globMatcher } from '@leasehold/core/listing'
import type { CliCommand, Invocation } from '../cli-command.ts'
import { openConnection } from '../connection/connection.ts'
import { withoutSecrets } from '../connection/settings.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { printable } from '../output/printable.ts'
import { Observer } from './observer.ts'
import { Outage } from './outage.ts'
import { type Output, outputOf } from './output.ts'
import { pause } from './pause.ts'
import { ReleaseFeed } from './release-feed.ts'

export const watch: CliCommand = {
  name: 'watch',
  args: '[pattern]',
  summary: 'watch locks being taken, handed on, given back and lost',
  description:
    'Shows the locks and what becomes of them, until Ctrl-C: a table that is drawn anew on a terminal, a line for each change ' +
    'elsewhere. Every second it looks at the locks it knows and lists them anew (less often where a list takes long), and at a lock ' +
    'whose release it hears at once. One that is taken and given back in between may not be seen.\n\n' +
    '"lost" is a lease that ended without a release: it expired, or somebody deleted its key. Over HTTP releases are not heard, ' +
    'and "gone" may be either.',
  options: [
    { flags: '--every <time>', description: 'between two lists', default: '1s' },
    { flags: '--for <time>', description: 'end by itself after this time' },
  ],
  examples: [
    ['leasehold watch', 'every lock under the prefix'],
    ["leasehold watch 'order:*' --json --for 1m > changes.jsonl", 'a record of a minute, a change a line'],
  ],
  connects: true,
  run,
}

/** How long the first look waits for the connection that listens, in milliseconds. */
const longestStartMs = 3_000

async function run({
  args: [pattern = '*'],
  options,
  json,
  settings,
  terminal,
  signal,
}: Invocation): Promise<ExitCode> {
  const everyMs = parseDuration('every', options['every'] as Duration)
  const spanMs = options['for'] === undefined ? undefined : parseDuration('for', options['for'] as Duration)
  const given = settings()
  await using connection = await openConnection(given, signal, { reconnects: true })
  const ended = new AbortController()
  const ends = [signal, ended.signal, ...(spanMs === undefined ? [] : [AbortSignal.timeout(spanMs)])]
  const until = AbortSignal.any(ends)
  const output: Output = outputOf(terminal, json, `${connection.where} ${printable(given.prefix + pattern)}`)
  const outage = new Outage()
  const feed = new ReleaseFeed(given.prefix, (key) => observer.hear(key))
  const unheard = (): string | undefined => {
    const follows = 'a lease that ends is "gone", whether it was given back, revoked or lost'
    if (!connection.subscriber) return `releases are not heard over HTTP: ${follows}`
    return feed.trouble && `releases are not heard, so ${follows} (${feed.trouble})`
  }
  const observer: Observer = new Observer({
    ...{ locks: connection.locks, pattern, matches: globMatcher(pattern), everyMs, feed },
    onLook: (observation) => {
      const ended = outage.after(observation.trouble, new Date())
      const note = observation.trouble ?? ended ?? unheard()
      output.show(observation, note && withoutSecrets(note, given))
    },
  })
  const listening = connection.subscriber && feed.listen(connection.subscriber, until)
  try {
    // So that no lease that is seen ends unheard.
    if (connection.subscriber) await Promise.race([feed.tried, pause(longestStartMs, until)])
    await observer.run(until)
  } finally {
    output.close()
    // If the first look failed, the listening still has to be ended.
    ended.abort()
    await listening
  }
  return exitCode.done
}
