import type { CliCommand } from '../cli-command.ts'
import { UsageError } from '../usage-error.ts'

export const stress: CliCommand = {
  name: 'stress',
  args: '',
  summary: 'Let processes contend, and check that no two hold the lock at once',
  description: 'Let processes contend, and check that no two hold the lock at once.',
  examples: [['leasehold stress', 'does it']],
  connects: true,
  run: () => Promise.reject(new UsageError('stress is not there yet')),
}
