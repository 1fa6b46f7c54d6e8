import type { RedisAdmin } from '@leasehold/testkit/redis'

/** How often the server has run each command since it started. */
export type CommandCounts = ReadonlyMap<string, number>

export interface CommandsUsed {
  /** What clients sent. A script counts as one. */
  readonly sent: number
  /** What scripts called. */
  readonly inner: number
}

/** Reads the server's own counters. What `INFO` itself adds is left out: a client also sends it when it connects. */
export async function readCommands(admin: RedisAdmin): Promise<CommandCounts> {
  const stats = String(await admin.command('INFO', 'commandstats'))
  const counts = new Map<string, number>()
  for (const [, name = '', calls] of stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) counts.set(name, Number(calls))
  counts.delete('info')
  return counts
}

/**
 * The server counts a command the same whether a client sent it or a script called it, so the two are told apart by
 * name.
 *
 * @param sends the commands that the clients send; none of them may also be called by their scripts
 */
export function commandsBetween(before: CommandCounts, after: CommandCounts, sends: readonly string[]): CommandsUsed {
  const used = { sent: 0, inner: 0 }
  for (const [name, calls] of after) {
    used[sends.includes(name) ? 'sent' : 'inner'] += calls - (before.get(name) ?? 0)
  }
  return used
}
