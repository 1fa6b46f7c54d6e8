import { bytesOf } from './text.ts'

/** The bearer token in an `Authorization` header, if there is one. */
export const bearerOf = (authorization: string | undefined): string | undefined =>
  /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]

/** Resolves with the index of the given token among the tokens; undefined if it is not one of them. */
export type BearerCheck = (given: string | undefined) => Promise<number | undefined>

/**
 * Compares every byte of the hashes of all tokens, so that the time taken reveals nothing about a token, not even its
 * length.
 */
export function bearerCheck(tokens: readonly string[]): BearerCheck {
  // Caches the hashes, not their promise: on Workers a promise must not be shared between requests.
  let expected: readonly Uint8Array[] | undefined
  return async (token) => {
    if (token === undefined) return undefined
    expected ??= await Promise.all(tokens.map(hash))
    const given = await hash(token)
    let found: number | undefined
    for (const [place, each] of expected.entries()) if (areEqual(given, each)) found = place
    return found
  }
}

const hash = async (token: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytesOf(token) as Uint8Array<ArrayBuffer>))

/** Whether two hashes of the same length are equal, in constant time. */
function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  let difference = 0
  for (let index = 0; index < one.length; index++) difference |= (one[index] as number) ^ (other[index] as number)
  return difference === 0
}
