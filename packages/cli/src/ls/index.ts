import type { CliCommand } from '../cli-command.ts'
import { UsageError } from '../usage-error.ts'

export const ls: CliCommand = {
  name: 'ls',
  args: '[pattern]',
  summary: 'List the locks that are held or waited for',
  description: 'List the locks that are held or waited for.',
  examples: [['leasehold ls', 'does it']],
  connects: true,
  run: () => Promise.reject(new UsageError('ls is not there yet')),
}
