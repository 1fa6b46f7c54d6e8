import type { CliCommand, Invocation } from '../cli-command.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../usage-error.ts'
import { bridgeSettings } from './bridge-settings.ts'
import { diagnose } from './diagnose.ts'
import { diagnosisLines } from './diagnosis-lines.ts'

export const doctor: CliCommand = {
  name: 'doctor',
  args: '',
  summary: 'find what endangers locks here, and say what to do',
  description:
    'Finds what endangers locks: a server that evicts keys, forgets them or takes no writes, permissions that are missing, a ' +
    'client of the wrong kind, prefixes that differ. Each finding says what to do. It also times a round trip, a script and ' +
    'the news of a release, by the server and by a bridge.\n\n' +
    'It takes a lock with a name of its own and gives it back. Exits with 1 if it finds an error.',
  options: [
    { flags: '--rounds <number>', description: 'how often each time is taken, 1 to 100', default: '10' },
    { flags: '--deadline <time>', description: 'how long it may take in all, such as 5s', default: '15s' },
    { flags: '--bridge <url>', description: 'a bridge to try as well (LEASEHOLD_BRIDGE_URL)' },
    {
      flags: '--bridge-token <token>',
      description: 'its token (LEASEHOLD_BRIDGE_TOKEN, LEASEHOLD_BRIDGE_TOKENS)',
    },
  ],
  examples: [
    ['leasehold doctor', 'what is wrong with the Redis of LEASEHOLD_REDIS, and its times'],
    ['leasehold doctor --bridge http://127.0.0.1:8788', 'the same, and whether a bridge hears its releases'],
    ['leasehold doctor --json | jq -r ".findings[].code"', 'for a script'],
  ],
  connects: true,
  run,
}

async function run({ options, json, settings, env, terminal, signal }: Invocation): Promise<ExitCode> {
  const rounds = Number(options['rounds'])
  if (!(Number.isInteger(rounds) && rounds >= 1 && rounds <= 100)) {
    throw new UsageError('--rounds must be a whole number from 1 to 100')
  }
  const bridge = bridgeSettings(options, env)
  const deadline = String(options['deadline']) as `${number}s`
  const diagnosis = await diagnose(settings(), bridge, { rounds, deadline, signal })
  if (json) terminal.write(`${JSON.stringify(diagnosis)}\n`)
  else terminal.write(`${diagnosisLines(diagnosis, terminal).join('\n')}\n`)
  if (!diagnosis.facts.reached) return exitCode.unavailable
  return diagnosis.findings.some(({ severity }) => severity === 'error') ? exitCode.no : exitCode.done
}
