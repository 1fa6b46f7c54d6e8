import { readFileSync } from 'node:fs'
import type { RedisTransport } from '@leasehold/core/redis'
import { variedTransport } from '../../support/varied-scripts.ts'

const virtualTime = readFileSync(new URL('virtual-time.lua', import.meta.url), 'utf8')

/** What scripts see as the server's time and its subscribers. */
export interface VirtualServer {
  nowMs: number
  /** The number of subscribers by channel. */
  readonly subscribers: Record<string, number>
  /** The most turns at a time, and the most entries that a call drops, if different from the product. */
  readonly bounds?: { readonly mostTurns: number; readonly mostDropped: number }
}

/** Runs each script with the time of `server`, on a real Redis. Published messages are kept in a list. */
export const virtualTransport = (real: RedisTransport, server: VirtualServer): RedisTransport =>
  variedTransport(real, {
    text: (script) => virtualTime + limited(script, server.bounds),
    args: () => [String(server.nowMs), JSON.stringify(server.subscribers)],
  })

/** Every queue script begins with figures; the number of turns and the number of drops are adjacent. */
function limited(text: string, bounds: VirtualServer['bounds']): string {
  const figures = '1e15,100,100,'
  if (bounds === undefined || !text.includes('1e15')) return text
  if (!text.includes(figures)) throw new Error('The scripts of the queue begin with other figures')
  return text.replace(figures, `1e15,${bounds.mostTurns},${bounds.mostDropped},`)
}

/** An outcome as text. Unordered parts are sorted, and all kinds of shared locks get one name. */
export const inOneForm = (outcome: unknown): string =>
  JSON.stringify(outcome, (key, value) => {
    if (typeof value === 'string')
      return value.replace('is a lock for several holders', 'holds something that is not a lock')
    if (key === 'turns') return [...value].sort()
    if (key === 'holders' && Array.isArray(value)) return value.map((it) => JSON.stringify(sorted(it))).sort()
    return value && typeof value === 'object' && !Array.isArray(value) ? sorted(value) : value
  })

const sorted = (value: object): object => Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
