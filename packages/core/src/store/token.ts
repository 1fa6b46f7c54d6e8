/**
 * Tokens: `[<name>.]<128 random bits, hex>.<fence>`.
 *
 * The client draws the part before the last dot, the *acquisition id*. Each acquisition gets a new one and keeps it through its
 * retries. The store appends the fence it mints. An acquire and the release that undoes it know only the acquisition id. Every
 * other request compares the whole token.
 */

const bytesOfId = 16
/** How many ids are drawn at once: the call for random bytes costs as much for a single id. */
const idsAtOnce = 64
/** The digits of ids that are drawn but not yet given out. */
let drawn = ''

/** Draws a new acquisition id. Not at module scope: Workers forbid randomness there. */
export function drawAcquisitionId(name?: string): string {
  if (!drawn) drawn = hex(crypto.getRandomValues(new Uint8Array(idsAtOnce * bytesOfId)))
  const random = drawn.slice(0, 2 * bytesOfId)
  drawn = drawn.slice(2 * bytesOfId)
  return name ? `${name}.${random}` : random
}

function hex(bytes: Uint8Array): string {
  const digit = (value: number): number => value + (value < 10 ? 48 : 87)
  const digits = new Uint8Array(2 * bytes.length)
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    digits[2 * at] = digit(byte >> 4)
    digits[2 * at + 1] = digit(byte & 15)
  }
  return new TextDecoder().decode(digits)
}

/** The name is lazy (`??`): otherwise the engine takes the random part for a name first and goes back digit by digit. */
const form = /^(?:[\w-]+\.)??[\da-f]{32}\.\d+$/

/** The locker's name and the fence in a stored value; undefined if the value is not one of our tokens (a foreign holder's). */
export function parseToken(value: unknown): { name: string | null; fence: number } | undefined {
  if (typeof value !== 'string' || !form.test(value)) return undefined
  const dot = value.lastIndexOf('.')
  // The name, if there is one, and a dot precede the random part.
  return { name: value.slice(0, Math.max(0, dot - 33)) || null, fence: Number(value.slice(dot + 1)) }
}

/** An acquisition id ends with its random part; a locker's name and a dot may precede it. */
export const randomPart = (acquisitionId: string): string => acquisitionId.slice(-32)

/**
 * The acquisition id in a stored value: what precedes its *last* dot, because an acquisition id with a name has a dot itself.
 * Empty for a value without a dot, such as a foreign holder's.
 */
export const acquisitionIdOf = (value: string): string => value.slice(0, Math.max(0, value.lastIndexOf('.')))

/** The fence of a stored value, as text; `-` for a value without one (a foreign holder's). */
export const cursorOf = (value: string): string => /\.(\d{1,128})$/.exec(value)?.[1] ?? '-'

/**
 * The value of a lock that nobody holds but that is not free yet: the token, with a random part that nobody draws. So
 * the name and the fence of its last holder remain visible.
 */
export const nobodysToken = (token: string): string => token.replace(/[\da-f]{32}(?=\.\d+$)/, '0'.repeat(32))
