import { demandOption } from '../errors.ts'

/**
 * The largest result of a record, in bytes: 512 KiB. Stores keep results as base64, so that binary survives every
 * transport, and a request with the largest result stays below the 1 MiB that HTTP servers of Redis commonly accept.
 */
export const mostResultBytes = 524_288

/** @throws InvalidOptionError for a fingerprint that is not 1 to 128 visible ASCII characters */
export function checkFingerprint(fingerprint: unknown): asserts fingerprint is string {
  const fits = typeof fingerprint === 'string' && /^[!-~]{1,128}$/.test(fingerprint)
  demandOption(fits, 'fingerprint', '1 to 128 visible ASCII characters, such as a hash in hex')
}

/** @throws InvalidOptionError for a result that is neither null nor bytes, or too large */
export function checkResult(result: unknown): asserts result is Uint8Array | null {
  const fits = result === null || (result instanceof Uint8Array && result.length <= mostResultBytes)
  demandOption(fits, 'result', `null, or a Uint8Array of at most ${mostResultBytes} bytes`)
}
