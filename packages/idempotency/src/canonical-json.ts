/**
 * Writes JSON so that two texts come out alike exactly if RFC 8785 writes them alike. The order of members is not that of the RFC,
 * because the text is only hashed.
 *
 * What readers of JSON do not agree on has no canonical form, so that a handler which reads it in its own way is not given the
 * answer to another amount: numbers that a double cannot keep, and objects with two members of one name.
 *
 * @returns undefined for what has no canonical form
 */
export function canonicalJson(body: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    const canonical = JSON.stringify(JSON.parse(text), sorted)
    const unquoted = withoutStrings(text)
    // A colon comes with each member. Of two members with one name only one is left.
    const members = unquoted.split(':').length
    const isExact = !inexact.test(unquoted) && members === withoutStrings(canonical).split(':').length
    return isExact ? canonical : undefined
  } catch {
    // No UTF-8, no JSON, or nested too deeply to be written.
    return undefined
  }
}

const withoutStrings = (json: string): string => json.replace(/"(?:[^"\\]|\\.)*"/g, '')

/** A number of 16 characters or more, or one with an exponent: a double keeps 15 digits for certain, up to 10^308. */
const inexact = /[\d.]{16}|\d[eE]/

const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
