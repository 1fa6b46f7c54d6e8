import type { Locker } from '@leasehold/core'
import { revokeFrom } from '@leasehold/core/listing'
import type { CliCommand, Invocation } from '../cli-command.ts'
import { openConnection } from '../connection/connection.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { printable } from '../output/printable.ts'
import { shownTime } from '../output/times.ts'
import { type LockReport, lockReport } from '../show/lock-report.ts'
import { UsageError } from '../usage-error.ts'

export const revoke: CliCommand = {
  name: 'revoke',
  args: '<key>',
  summary: 'take a lock away from its holder',
  description:
    'Takes a lock away from whoever has it, and wakes who waits for it. A holder that is alive learns of it by its next ' +
    'renewal: its signal fires. Its later writes are refused only where the guarded resource checks the fence.\n\n' +
    'It says whom it takes the lock from, and asks. If another has the lock by then, nothing is revoked, with --yes neither. ' +
    'Of a lock for several, all holders lose it.',
  options: [{ flags: '--yes', description: 'do not ask; needed where nobody can answer' }],
  examples: [
    ['leasehold revoke order:1', 'asks first'],
    ['leasehold revoke order:1 --yes --json', 'for a script: exits with 1 if nobody held it'],
  ],
  connects: true,
  run,
}

async function run(invocation: Invocation): Promise<ExitCode> {
  const { args, options, json, settings, terminal, signal } = invocation
  const [key = ''] = args
  const sure = options['yes'] === true
  if (!sure && !terminal.canAsk) throw new UsageError('nobody can be asked here: revoke needs --yes')
  await using connection = await openConnection(settings(), signal)
  const { locks } = connection
  const seen = await lockReport(locks, key, signal)
  const answer = (result: Result, text: string): ExitCode => {
    const { revoked } = result
    if (json) terminal.write(`${JSON.stringify({ key, ...result })}\n`)
    else terminal.write(`${text}\n`)
    return revoked ? exitCode.done : exitCode.no
  }
  const name = printable(key)
  if (!seen || seen.holders.length === 0) {
    return answer({ revoked: false, reason: 'free', from: [] }, `${name} is free: nothing to revoke`)
  }
  if (!sure) {
    terminal.tell(`${name} is held by ${whom(seen)}.\n`)
    const said = await terminal.ask('Take it away? [y/N] ', signal)
    if (!/^y(es)?$/i.test(said.trim())) {
      return answer({ revoked: false, reason: 'declined', from: [] }, 'Nothing is revoked')
    }
  }
  const outcome = await revokeFromSeen(locks, seen, signal)
  if (outcome === 'revoked') return answer({ revoked: true, from: seen.holders }, `${name} is taken from ${whom(seen)}`)
  const now = await lockReport(locks, key, signal)
  if (outcome === 'free' && !now?.holders.length) {
    return answer({ revoked: false, reason: 'free', from: [] }, `${name} was given back just now: nothing to revoke`)
  }
  return answer(
    { revoked: false, reason: 'changed-hands', from: [] },
    `${name} has changed hands meanwhile (now ${now ? whom(now) : 'nobody'}): nothing is revoked`,
  )
}

/**
 * Takes the lock from the holder that was shown. With several holders this is not one atomic step: one who comes after
 * the second look may lose its lease, too.
 */
async function revokeFromSeen(
  locks: Locker,
  seen: LockReport,
  signal: AbortSignal,
): Promise<'revoked' | 'free' | 'held'> {
  const { key, kind, holders } = seen
  const [holder] = holders
  if (kind === 'exclusive' && holder) return revokeFrom(locks, key, holder.fence)
  if (fencesOf(await lockReport(locks, key, signal)) !== fencesOf(seen)) return 'held'
  return (await locks.revoke(key)) ? 'revoked' : 'free'
}

interface Result {
  readonly revoked: boolean
  readonly reason?: 'free' | 'declined' | 'changed-hands'
  readonly from: LockReport['holders']
}

/** `orders-7 (fence 1764389000000001, for 3m 12s, expires in 8.1 s)`, or how many there are. */
function whom({ holders, isKept }: LockReport): string {
  const [holder, ...others] = holders
  if (!holder) return 'nobody'
  if (others.length > 0)
    return `${holders.length} holders (${holders.map((each) => each.holder ?? 'no name').join(', ')})`
  const details = [
    holder.fence === null ? 'no fence: not one of ours' : `fence ${holder.fence}`,
    ...(holder.since ? [`for ${shownTime(Date.now() - holder.since.getTime())}`] : []),
    holder.expiresInMs === null ? 'never expires' : `expires in ${shownTime(holder.expiresInMs)}`,
  ]
  const who = holder.holder ?? 'a holder without a name'
  return `${isKept ? `nobody, kept after ${who}` : who} (${details.join(', ')})`
}

/** The fences of all holders. A foreign holder has none: it counts only as present. */
const fencesOf = (report: LockReport | undefined): string =>
  JSON.stringify(report?.holders.map(({ fence }) => fence) ?? [])
