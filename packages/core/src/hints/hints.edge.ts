/*
 * The least that a message must say: see `hints.ts`, which this file replaces under `workerd`, `edge-light` and `browser`.
 * The empty functions are statements, of which bundlers leave nothing, not even the call.
 */

export function hint(_option: string, _value: unknown): string | undefined {
  return undefined
}

export function unknownOption(_name: string): string | undefined {
  return undefined
}

export function printLeases(_prototype: object): void {
  // Their plain fields are what is printed.
}

export const unavailable = (problem: string, words = 'check that it is reachable'): string =>
  `The lock store ${problem}: ${words}`

export const notInTime = (key: string, { waitedMs }: { readonly waitedMs: number }): string =>
  `Lock "${key}" was not granted in ${waitedMs} ms; allow a longer wait`
