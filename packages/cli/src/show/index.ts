import type { CliCommand } from '../cli-command.ts'
import { UsageError } from '../usage-error.ts'

export const show: CliCommand = {
  name: 'show',
  args: '<key>',
  summary: 'Show everything that is known of one lock',
  description: 'Show everything that is known of one lock.',
  examples: [['leasehold show', 'does it']],
  connects: true,
  run: () => Promise.reject(new UsageError('show is not there yet')),
}
