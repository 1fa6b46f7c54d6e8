import { InvalidOptionError } from '../errors.ts'
import { checkFence, isFence } from './fence.ts'

/** The header that carries a fence to a resource behind HTTP: `Leasehold-Fence: 1764284400000000`. */
export const fenceHeader = 'Leasehold-Fence'

/**
 * Sets the fence header of a request to the guarded resource: `writeFence(headers, lease.fence)`.
 *
 * @throws InvalidOptionError for anything that is not a fence
 */
export function writeFence(headers: Headers, fence: number): void {
  checkFence(fence)
  headers.set(fenceHeader, String(fence))
}

/**
 * Reads the fence that a request carries. Returns null if it carries none.
 *
 * @throws InvalidOptionError naming the header if its value is not one positive safe integer in decimal digits, for
 *   example because the header was sent twice
 */
export function readFence(headers: Headers): number | null {
  const text = headers.get(fenceHeader)
  if (text === null) return null
  // Number() alone would accept "", "0x10" and "1e3".
  const fence = /^[1-9]\d*$/.test(text) ? Number(text) : undefined
  if (!isFence(fence)) throw new InvalidOptionError(fenceHeader, 'must be a positive safe integer in decimal digits')
  return fence
}
