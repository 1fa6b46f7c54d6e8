/** A part of a pattern: any text, or one character that passes the test. */
type Part = 'any' | ((character: string) => boolean)

/**
 * Makes a function that returns whether a key matches a Redis pattern: `*` is any text, `?` one character, `[ab]`,
 * `[a-z]` and `[^a]` one of a set, and `\` goes before a character that stands for itself. Matching takes, at worst,
 * time in proportion to the key's length times the pattern's.
 *
 * @example
 * ```ts
 * globMatcher('order:*')('order:1') // true
 * ```
 */
export function globMatcher(pattern: string): (key: string) => boolean {
  const parts = partsOf(Array.from(pattern))
  return (key) => matches(parts, Array.from(key))
}

function matches(parts: readonly Part[], key: readonly string[]): boolean {
  let [part, at] = [0, 0]
  // The place of the last `*`, and up to where it covers the key: one character more if the rest does not match.
  let [star, taken] = [-1, 0]
  while (at < key.length) {
    const next = parts[part]
    if (next === 'any') {
      ;[star, taken] = [part++, at]
    } else if (next?.(key[at] as string)) {
      part++
      at++
    } else if (star >= 0) {
      part = star + 1
      at = ++taken
    } else return false
  }
  return parts.slice(part).every((left) => left === 'any')
}

function partsOf(pattern: readonly string[]): readonly Part[] {
  const parts: Part[] = []
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] as string
    if (character === '*') parts.push('any')
    else if (character === '?') parts.push(() => true)
    else if (character === '[') {
      const end = endOfSet(pattern, at)
      parts.push(oneOf(pattern.slice(at + 1, end)))
      at = end
    } else {
      const escaped = character === '\\' && at + 1 < pattern.length
      const itself = escaped ? pattern[++at] : character
      parts.push((other) => other === itself)
    }
  }
  return parts
}

/** As in Redis, an unclosed set extends to the end. */
function endOfSet(pattern: readonly string[], from: number): number {
  let at = from + 1
  while (at < pattern.length && pattern[at] !== ']') at += pattern[at] === '\\' ? 2 : 1
  return at
}

function oneOf(set: readonly string[]): (character: string) => boolean {
  const isNot = set[0] === '^'
  const ranges: (readonly [from: string, to: string])[] = []
  for (let at = isNot ? 1 : 0; at < set.length; at++) {
    if (set[at] === '\\' && at + 1 < set.length) at++
    const from = set[at] as string
    const isRange = set[at + 1] === '-' && at + 2 < set.length
    const to = isRange ? (set[at + 2] as string) : from
    ranges.push(from <= to ? [from, to] : [to, from])
    if (isRange) at += 2
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNot
}
