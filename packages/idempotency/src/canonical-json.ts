/**
 * Serializes JSON so that two texts have the same output exactly if RFC 8785 gives them the same output. The order of
 * members is not the RFC's, because the text is only hashed.
 *
 * What JSON parsers disagree on has no canonical form: numbers that a double cannot represent, and objects with two
 * members of the same name. Otherwise a handler with its own parser could be given the answer for another amount.
 *
 * @returns undefined if there is no canonical form
 */
export function canonicalJson(body: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    const canonical = JSON.stringify(JSON.parse(text), sorted)
    const unquoted = withoutStrings(text)
    // Each member has a colon. Of two members with the same name, only one survives parsing.
    const members = unquoted.split(':').length
    const isExact = !inexact.test(unquoted) && members === withoutStrings(canonical).split(':').length
    return isExact ? canonical : undefined
  } catch {
    // Not UTF-8, not JSON, or nested too deeply to be serialized.
    return undefined
  }
}

const withoutStrings = (json: string): string => json.replace(/"(?:[^"\\]|\\.)*"/g, '')

/** A number of 16 characters or more, or one with an exponent: a double is certain to keep 15 digits, up to 10^308. */
const inexact = /[\d.]{16}|\d[eE]/

const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
