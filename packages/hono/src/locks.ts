import { demandOption } from '@leasehold/core/adapter'
import type { Context, Env } from 'hono'

/** A locker, or a function that returns the one for a request, for platforms where settings come with each request. */
export type LocksOption<L extends object, E extends Env> = L | ((c: Context<E>) => L)

/** @throws InvalidOptionError for anything else */
export function checkLocks(locks: unknown, call: string): void {
  const isLocker = typeof (locks as Record<string, unknown> | null | undefined)?.[call] === 'function'
  demandOption(isLocker || typeof locks === 'function', 'locks', 'a locker, or a function that returns one', locks)
}

export const locksFor = <L extends object, E extends Env>(c: Context<E>, locks: LocksOption<L, E>): L =>
  typeof locks === 'function' ? locks(c) : locks
