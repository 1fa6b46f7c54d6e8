/**
 * Tokens: `[<name>.]<128 random bits, hex>.<fence>`.
 *
 * The client draws the part before the last dot, the *acquisition id*. Each acquisition gets a new one and keeps it through its
 * retries. The store appends the fence it mints. An acquire and the release that undoes it know only the acquisition id. Every
 * other request compares the whole token.
 */

/** How many 64-bit words are drawn at once, two for each id: drawing a few takes almost as long as drawing all. */
const wordsAtOnce = 512
let words = new BigUint64Array()
let used = 0

/** Draws a new acquisition id. Not at module scope: Workers forbid randomness there. */
export function drawAcquisitionId(name?: string): string {
  if (used === words.length) {
    words = crypto.getRandomValues(new BigUint64Array(wordsAtOnce))
    used = 0
  }
  const random = nextDigits() + nextDigits()
  return name ? `${name}.${random}` : random
}

const nextDigits = (): string => (words[used++] as bigint).toString(16).padStart(16, '0')

/** The name is lazy (`??`): otherwise the engine takes the random part for a name first and goes back digit by digit. */
const form = /^(?:[\w-]+\.)??[\da-f]{32}\.\d+$/

/** The locker's name and the fence in a stored value; undefined if the value is not one of our tokens (a foreign holder's). */
export function parseToken(value: unknown): { name: string | null; fence: number } | undefined {
  if (typeof value !== 'string' || !form.test(value)) return undefined
  const dot = value.lastIndexOf('.')
  // The name, if there is one, and a dot precede the random part.
  return { name: value.slice(0, Math.max(0, dot - 33)) || null, fence: Number(value.slice(dot + 1)) }
}

/**
 * The fence of a token, or 0 if it does not end with one. It does not look at the acquisition id, because the caller
 * compares that. A regular expression, or turning the number back into text, costs a process that mostly waits several times as
 * much.
 */
export function fenceOf(token: unknown): number {
  if (typeof token !== 'string' || token.length < 34) return 0
  const from = token.lastIndexOf('.') + 1
  let fence = 0
  for (let at = from; at < token.length; at++) {
    const digit = token.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return 0
    fence = fence * 10 + digit
  }
  return token[from] !== '0' && Number.isSafeInteger(fence) ? fence : 0
}

/** An acquisition id ends with its random part; a locker's name and a dot may precede it. */
export const randomPart = (acquisitionId: string): string => acquisitionId.slice(-32)

/**
 * The acquisition id in a stored value: what precedes its *last* dot, because an acquisition id with a name has a dot itself.
 * Empty for a value without a dot, such as a foreign holder's.
 */
export const acquisitionIdOf = (value: string): string => value.slice(0, Math.max(0, value.lastIndexOf('.')))

/** Whether a token was granted to this acquisition. */
export const isTokenOf = (acquisitionId: string, token: string): boolean =>
  token.lastIndexOf('.') === acquisitionId.length && token.startsWith(acquisitionId)

/** The fence of a stored value, as text; `-` for a value without one (a foreign holder's). */
export const cursorOf = (value: string): string => /\.(\d{1,128})$/.exec(value)?.[1] ?? '-'

/**
 * The value of a lock that nobody holds but that is not free yet: the token, with a random part that nobody draws. So
 * the name and the fence of its last holder remain visible.
 */
export const nobodysToken = (token: string): string => token.replace(/[\da-f]{32}(?=\.\d+$)/, '0'.repeat(32))
