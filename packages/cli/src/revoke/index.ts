import type { CliCommand } from '../cli-command.ts'
import { UsageError } from '../usage-error.ts'

export const revoke: CliCommand = {
  name: 'revoke',
  args: '<key>',
  summary: 'Take a lock away from its holder',
  description: 'Take a lock away from its holder.',
  examples: [['leasehold revoke', 'does it']],
  connects: true,
  run: () => Promise.reject(new UsageError('revoke is not there yet')),
}
