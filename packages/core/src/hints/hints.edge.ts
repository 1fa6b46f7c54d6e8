/*
 * The least that a message must say: see `hints.ts`, which this file replaces under `workerd`, `edge-light` and `browser`.
 * Functions that do nothing are statements: of those bundlers leave not even the call.
 */

export function hint(_option: string, _value: unknown): string | undefined {
  return undefined
}

export function unknownOption(_name: string): string | undefined {
  return undefined
}

export function printLeases(_leases: object): void {
  // Their plain fields are what is printed.
}

export const unavailable = (problem: string, words = 'check that it is reachable'): string =>
  `The lock store ${problem}: ${words}`

export function known(fields: object): object {
  return fields
}

export const notInTime = (key: string): string => `Lock "${key}" was not granted in time; allow a longer wait`
