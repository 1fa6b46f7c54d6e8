import type { Overrun } from '@leasehold/core/locked'
import { Logger } from '@nestjs/common'

/**
 * Warns that a call was skipped because an earlier one still runs in this process, rather than another instance's run of
 * the same job.
 *
 * @param method its name, for the warning
 */
export const warnOfOverrun =
  (method: string) =>
  ({ key, runningMs }: Overrun): void => {
    const seconds = (runningMs / 1_000).toFixed(1)
    const text = `${method} is due and skipped: its last run, under way for ${seconds} s, has outlasted the interval`
    new Logger('Leasehold').warn(`${text} (lock "${key}")`)
  }
