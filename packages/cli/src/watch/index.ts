import type { CliCommand } from '../cli-command.ts'
import { UsageError } from '../usage-error.ts'

export const watch: CliCommand = {
  name: 'watch',
  args: '[pattern]',
  summary: 'Watch locks being taken and given back',
  description: 'Watch locks being taken and given back.',
  examples: [['leasehold watch', 'does it']],
  connects: true,
  run: () => Promise.reject(new UsageError('watch is not there yet')),
}
