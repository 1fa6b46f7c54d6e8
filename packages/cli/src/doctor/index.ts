import type { CliCommand } from '../cli-command.ts'
import { UsageError } from '../usage-error.ts'

export const doctor: CliCommand = {
  name: 'doctor',
  args: '',
  summary: 'Find what is wrong with a set-up, and say what to do',
  description: 'Find what is wrong with a set-up, and say what to do.',
  examples: [['leasehold doctor', 'does it']],
  connects: true,
  run: () => Promise.reject(new UsageError('doctor is not there yet')),
}
