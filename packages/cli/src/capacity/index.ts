import type { CliCommand } from '../cli-command.ts'
import { UsageError } from '../usage-error.ts'

export const capacity: CliCommand = {
  name: 'capacity',
  args: '',
  summary: 'Reckon commands a second, memory and price',
  description: 'Reckon commands a second, memory and price.',
  examples: [['leasehold capacity', 'does it']],
  connects: false,
  run: () => Promise.reject(new UsageError('capacity is not there yet')),
}
