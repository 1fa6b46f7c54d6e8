/*
 * The shortest messages that still say what to do. They replace the longer ones under `workerd`, `edge-light` and
 * `browser`. The functions that do nothing are declarations, because bundlers then remove even the calls.
 */

export function hint(_option: string, _value: unknown): string | undefined {
  return undefined
}

export function unknownOption(_name: string): string | undefined {
  return undefined
}

export function printLeases(_leases: object): void {
  // Only a lease's plain fields are printed.
}

export const unavailable = (problem: string, words = 'check that it is reachable'): string =>
  `The lock store ${problem}: ${words}`

export function known(fields: object): object {
  return fields
}

export const notInTime = (key: string): string =>
  `Lock "${key}" was not granted in time; allow a longer wait or budget, or let the bridge wake waiters`
