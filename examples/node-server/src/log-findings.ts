import { type CheckTarget, check } from '@leasehold/core/check'

/** How long the check at the start may take. */
const deadline = '5s'

/**
 * Logs what endangers locks, such as a Redis that evicts keys or forgets them in a restart. The server does not wait for it: it works
 * with such a Redis, and an operator should know.
 */
export async function logFindings(leases: CheckTarget): Promise<void> {
  const { findings, facts } = await check(leases, { deadline })
  // That Redis cannot be reached is logged as soon as it is noticed, and again when it is back.
  if (!facts.reached) return
  for (const { severity, code, message, remedy } of findings) {
    if (severity !== 'info') console.error(`${severity} ${code}: ${message}. ${remedy}`)
  }
}
