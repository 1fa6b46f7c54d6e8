import type { LedgerEntry } from './ledger.ts'
import type { Expected } from './requests.ts'

/** The claim that was checked, how many cases there were, and every violation. */
export interface Finding {
  readonly claim: string
  readonly extent: string
  readonly violations: readonly string[]
}

/** Every order was charged once, every coupon issued once, and nothing else was done. */
export function checkEffects(ledger: readonly LedgerEntry[], { orders, coupons }: Expected): Finding {
  const times = new Map<string, number>()
  for (const { effect } of ledger) {
    if (effect !== undefined) times.set(effect, (times.get(effect) ?? 0) + 1)
  }
  const due = new Set(Array.from(orders, (order) => `charge:${order}`))
  const allowed = new Set(due)
  for (const [id, { users }] of coupons) for (const user of users) allowed.add(`issue:${id}:${user}`)

  const violations: string[] = []
  for (const effect of due) if (!times.has(effect)) violations.push(`${effect} never happened`)
  for (const [effect, count] of times) {
    if (count > 1) violations.push(`${effect} happened ${count} times`)
    if (!allowed.has(effect)) violations.push(`${effect} happened, and nobody asked for it`)
  }
  return { claim: 'every effect happened exactly once', extent: `${times.size} effects`, violations }
}

/** Each coupon was issued exactly as often as there are coupons, or users who asked. */
export function checkLimits(ledger: readonly LedgerEntry[], { coupons }: Expected): Finding {
  const violations: string[] = []
  const counts = Array.from(coupons, ([id, { limit, users }]) => {
    const issued = ledger.filter(({ effect }) => effect?.startsWith(`issue:${id}:`)).length
    const due = Math.min(limit, users.size)
    if (issued !== due) violations.push(`coupon ${id} was issued ${issued} times instead of ${due}`)
    return `${id} ${issued} of ${limit}`
  })
  return { claim: 'no coupon went beyond its limit', extent: counts.join(', '), violations }
}

/** Each hold of a key has a higher fence than all earlier holds of that key. */
export function checkFences(ledger: readonly LedgerEntry[]): Finding {
  const highest = new Map<string, number>()
  const violations: string[] = []
  for (const { type, key, fence } of ledger) {
    if (type !== 'enter') continue
    const before = highest.get(key) ?? 0
    if (fence <= before) violations.push(`${key} was held with fence ${fence} after ${before}`)
    highest.set(key, Math.max(fence, before))
  }
  return { claim: 'fences rose with every hold of a key', extent: `${highest.size} keys`, violations }
}

/** Nobody entered a key before its holder had left, and nothing was done outside of a hold. */
export function checkHolds(ledger: readonly LedgerEntry[]): Finding {
  const inside = new Map<string, Set<string>>()
  const violations: string[] = []
  const holds = new Map<string, number>()
  for (const { type, server, key, fence, effect } of ledger) {
    const holder = `${server} with fence ${fence}`
    const holders = inside.get(key) ?? new Set()
    inside.set(key, holders)
    if (type === 'enter') {
      holds.set(server, (holds.get(server) ?? 0) + 1)
      if (holders.size > 0) violations.push(`${holder} entered ${key} while ${[...holders].join(' and ')} was inside`)
      holders.add(holder)
    } else if (type === 'leave') {
      if (!holders.delete(holder)) violations.push(`${holder} left ${key} without being inside`)
    } else if (!holders.has(holder)) violations.push(`${effect} was done by ${holder}, who did not hold ${key}`)
  }
  for (const [key, holders] of inside) for (const holder of holders) violations.push(`${holder} never left ${key}`)
  const shares = Array.from(holds, ([server, count]) => `${server} ${count}`).toSorted()
  return { claim: 'holds of one key never overlapped', extent: `holds: ${shares.join(', ')}`, violations }
}

/** Every request was answered in the end. */
export function checkAnswers(sent: number, unanswered: readonly string[]): Finding {
  return { claim: 'every request was answered', extent: `${sent} requests`, violations: unanswered }
}

/** Waiters over HTTP did not poll. Without this check, nobody would notice if the bridge was down. */
export function checkWakeUps({ count, woken }: { readonly count: number; readonly woken: number }): Finding {
  const violations = count > 0 && woken === 0 ? ['nobody was'] : []
  const extent = `${woken} wake-ups for ${count} waits`
  return { claim: 'who waited over HTTP was woken by the bridge', extent, violations }
}

/** The servers ended by themselves when asked to. */
export function checkExits(exits: readonly { readonly name: string; readonly code: number | null }[]): Finding {
  const violations = exits
    .filter(({ code }) => code !== 0)
    .map(({ name, code }) => `server ${name} ended ${code === null ? 'by force' : `with code ${code}`}`)
  return { claim: 'the servers stopped in order', extent: exits.map(({ name }) => name).join(', '), violations }
}

/** No lock, fence record or anything else is left in Redis. */
export function checkLeftovers(keys: readonly string[], waitedMs: number): Finding {
  const violations = keys.map((key) => `${key} was left behind`)
  return { claim: 'nothing was left behind', extent: `looked for ${(waitedMs / 1_000).toFixed(1)} s`, violations }
}
