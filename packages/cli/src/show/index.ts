import type { CliCommand, Invocation } from '../cli-command.ts'
import { openConnection } from '../connection/connection.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { prefixHint } from '../output/prefix-hint.ts'
import { printable } from '../output/printable.ts'
import { type LockReport, lockReport } from './lock-report.ts'
import { reportLines } from './report-lines.ts'

export const show: CliCommand = {
  name: 'show',
  args: '<key>',
  summary: 'show all that is known of one lock',
  description:
    'Shows who has a lock, or all who have permits of it, with fence, since when and for how long, and what each in its queue ' +
    'wants, in order. Redis knows no names of waiters. The secret of a lease, its token, is not shown. Exits with 1 if the lock ' +
    'is free and nobody is in its queue.',
  examples: [
    ['leasehold show order:1', 'the key without its prefix'],
    ["leasehold show pool:db --json | jq '.heldBy[].holder'", 'the names of all who have permits'],
  ],
  connects: true,
  run,
}

async function run({ args: [key = ''], json, settings, terminal, signal }: Invocation): Promise<ExitCode> {
  const given = settings()
  await using connection = await openConnection(given, signal)
  const report = await lockReport(connection.locks, key, signal)
  if (json) terminal.write(`${JSON.stringify(report ? shown(report) : { key, held: false })}\n`)
  else if (report) terminal.write(`${reportLines(report, terminal, Date.now()).join('\n')}\n`)
  else {
    terminal.write(`${printable(key)} is free, and nobody is in its queue\n`)
    terminal.tell(prefixHint('key', key, given))
  }
  return report ? exitCode.done : exitCode.no
}

/** The object that `--json` writes: `holders` is a number, as in `ls`. */
const shown = ({ holders, ...report }: LockReport) => ({
  held: holders.length > 0,
  ...report,
  holders: report.isKept ? 0 : holders.length,
  heldBy: holders,
})
