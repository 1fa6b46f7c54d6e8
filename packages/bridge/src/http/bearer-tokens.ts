import { bytesOf } from './text.ts'

/** What the value of an `Authorization` header carries as a bearer token, if it does. */
export const bearerOf = (authorization: string | undefined): string | undefined =>
  /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]

/** Answers which of the tokens was given, by its place among them. */
export type BearerCheck = (given: string | undefined) => Promise<number | undefined>

/**
 * Compares hashes rather than tokens, every byte of them, with every token, so that the time it takes tells nothing about
 * a token, not even its length.
 */
export function bearerCheck(tokens: readonly string[]): BearerCheck {
  // The hashes and not their promise are kept: on Workers a promise must not be shared between requests.
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

/** Of hashes that are as long as each other. */
function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  let difference = 0
  for (let index = 0; index < one.length; index++) difference |= (one[index] as number) ^ (other[index] as number)
  return difference === 0
}
