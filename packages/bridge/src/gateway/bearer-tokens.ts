import { bytesOf } from './text.ts'

/** Answers whether the value of an `Authorization` header has one of the tokens. */
export type BearerCheck = (authorization: string | undefined) => Promise<boolean>

/**
 * Compares hashes rather than tokens, every byte of them, with every token, so that the time it takes tells nothing about
 * a token, not even its length.
 */
export function bearerCheck(tokens: readonly string[]): BearerCheck {
  // The hashes and not their promise are kept: on Workers a promise must not be shared between requests.
  let expected: readonly Uint8Array[] | undefined
  return async (authorization) => {
    const token = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) return false
    expected ??= await Promise.all(tokens.map(hash))
    const given = await hash(token)
    let matches = 0
    for (const each of expected) matches |= equal(given, each)
    return matches === 1
  }
}

const hash = async (token: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytesOf(token) as Uint8Array<ArrayBuffer>))

/** 1 or 0, of hashes that are as long as each other. */
function equal(one: Uint8Array, other: Uint8Array): number {
  let difference = 0
  for (let index = 0; index < one.length; index++) difference |= (one[index] as number) ^ (other[index] as number)
  return difference === 0 ? 1 : 0
}
