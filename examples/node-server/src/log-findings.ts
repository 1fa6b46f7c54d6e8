import { type CheckTarget, check } from '@leasehold/core/check'

/** How long the check on startup may take. */
const deadline = '5s'

/**
 * Logs what endangers locks, such as a Redis that evicts keys or loses them in a restart. The server does not wait for
 * this: it works with such a Redis, but an operator should know.
 */
export async function logFindings(leases: CheckTarget): Promise<void> {
  const { findings, facts } = await check(leases, { deadline })
  // An unreachable Redis is logged as soon as that is noticed, and again when it is back.
  if (!facts.reached) return
  for (const { severity, code, message, remedy } of findings) {
    if (severity !== 'info') console.error(`${severity} ${code}: ${message}. ${remedy}`)
  }
}
