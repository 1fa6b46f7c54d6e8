/** A byte order mark is data like any other. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const encoder = new TextEncoder()

/** As UTF-8; what is not valid becomes U+FFFD. */
export const textOf = (value: string | Uint8Array): string =>
  typeof value === 'string' ? value : decoder.decode(value)

export const bytesOf = (value: string | Uint8Array): Uint8Array =>
  typeof value === 'string' ? encoder.encode(value) : value
