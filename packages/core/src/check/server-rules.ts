import type { Finding } from '../store/finding.ts'
import { type CheckCode, finding } from './catalogue.ts'
import { isNewEnough, type ServerReport } from './server-report.ts'

/** A server is nearly full from this fraction of its memory limit on. */
const nearlyFull = 0.9

/** What is known about a server besides its report. */
export interface ServerSetting {
  /** The setting `save`: when the server writes snapshots; empty means never. Undefined if it cannot be asked for. */
  readonly save: string | undefined
}

/** Returns what a server's report on itself means for locks. */
export function serverFindings(report: ServerReport, { save }: ServerSetting): readonly Finding[] {
  const version = [report.product, report.version].join(' ')
  const found: Finding[] = []
  const tell = (code: CheckCode, message: string): void => {
    found.push(finding(code, message))
  }
  if (!isNewEnough(report.redisVersion))
    tell('TOO_OLD', `The server is ${version}; the scripts of locks need Redis 6.2`)
  if (report.role === 'sentinel') tell('IS_SENTINEL', 'The server is a Sentinel, which keeps no keys')
  if (report.role === 'replica') tell('IS_REPLICA', 'The server is a replica, and takes no writes')
  if (report.loading) tell('NOT_READY', 'The server is loading its data')
  if (!report.diskWorks) tell('DISK_FAILS', "The server's last write to its disk failed: what it keeps of locks is old")
  return report.role === 'sentinel' ? found : [...found, ...memoryFindings(report), ...lossFindings(report, save)]
}

function memoryFindings({ evictionPolicy, evictedKeys, maxMemory, usedMemory }: ServerReport): readonly Finding[] {
  const isLimited = maxMemory !== null
  if (evictionPolicy !== null && evictionPolicy !== 'noeviction') {
    const gone = evictedKeys ? `; it has evicted ${evictedKeys} keys since it started` : ''
    const message = isLimited
      ? `The server is set to ${evictionPolicy} and may evict a lock that is held: then it gets a second holder${gone}`
      : `The server is set to ${evictionPolicy}; with a memory limit, which it has not got, it would evict locks that are held`
    return [finding(isLimited ? 'EVICTS_LOCKS' : 'MAY_EVICT_LOCKS', message)]
  }
  if (!isLimited || usedMemory === null || usedMemory < nearlyFull * maxMemory) return []
  const percent = Math.floor((100 * usedMemory) / maxMemory)
  return [finding('MEMORY_NEARLY_FULL', `The server uses ${percent} % of its memory limit; a full one grants no locks`)]
}

/** Returns what a restart of the server does to locks. */
function lossFindings({ appendOnly }: ServerReport, save: string | undefined): readonly Finding[] {
  if (appendOnly !== false) return []
  if (save === '') {
    const message = 'The server keeps nothing on disk: a restart forgets all locks, and lets a second holder in'
    return [finding('NO_PERSISTENCE', message)]
  }
  const crash = 'a crash forgets the locks taken since its last snapshot, and lets a second holder in'
  if (save !== undefined) return [finding('SNAPSHOTS_ONLY', `The server keeps snapshots alone: ${crash}`)]
  const unseen = 'whether it keeps snapshots cannot be seen from here'
  return [
    finding(
      'NO_APPEND_ONLY_FILE',
      `The server keeps no append-only file, and ${unseen}. If it does, ${crash}; if not, each restart does so with all of them`,
    ),
  ]
}
