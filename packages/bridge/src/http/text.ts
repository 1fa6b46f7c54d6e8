/** Keeps a byte order mark: it is data like any other. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const encoder = new TextEncoder()

/** Decodes UTF-8; invalid bytes become U+FFFD. */
export const textOf = (value: string | Uint8Array): string =>
  typeof value === 'string' ? value : decoder.decode(value)

export const bytesOf = (value: string | Uint8Array): Uint8Array =>
  typeof value === 'string' ? encoder.encode(value) : value
