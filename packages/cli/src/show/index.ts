import type { CliCommand, Invocation } from '../cli-command.ts'
import { openConnection } from '../connection/connection.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { printable } from '../output/printable.ts'
import { lockReport } from './lock-report.ts'
import { reportLines } from './report-lines.ts'

export const show: CliCommand = {
  name: 'show',
  args: '<key>',
  summary: 'show all that is known of one lock',
  description:
    'Shows who has a lock, or all who have permits of it, with fence, since when and for how long, and who waits, in order. ' +
    'Its secret, the token, is not shown. Exits with 1 if it is free and nobody waits for it.',
  examples: [
    ['leasehold show order:1', 'the key without its prefix'],
    ["leasehold show pool:db --json | jq '.holders[].holder'", 'the names of all who have permits'],
  ],
  connects: true,
  run,
}

async function run({ args: [key = ''], json, settings, terminal, signal }: Invocation): Promise<ExitCode> {
  await using connection = await openConnection(settings(), signal)
  const report = await lockReport(connection.locks, key, signal)
  if (json)
    terminal.write(
      `${JSON.stringify(report ? { held: report.holders.length > 0, ...report } : { key, held: false })}\n`,
    )
  else if (report) terminal.write(`${reportLines(report, terminal, Date.now()).join('\n')}\n`)
  else terminal.write(`${printable(key)} is free, and nobody waits for it in a queue\n`)
  return report ? exitCode.done : exitCode.no
}
