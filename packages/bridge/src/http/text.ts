/** A byte order mark is data like any other. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const encoder = new TextEncoder()

/** As UTF-8; what is not valid becomes U+FFFD. */
export const textOf = (value: string | Uint8Array): string =>
  typeof value === 'string' ? value : decoder.decode(value)

export const bytesOf = (value: string | Uint8Array): Uint8Array =>
  typeof value === 'string' ? encoder.encode(value) : value

/** A function takes so many arguments on every runtime. */
const chunkLength = 8_192

export function base64Of(value: string | Uint8Array): string {
  const bytes = bytesOf(value)
  let binary = ''
  for (let start = 0; start < bytes.length; start += chunkLength) {
    binary += String.fromCharCode(...bytes.subarray(start, start + chunkLength))
  }
  return btoa(binary)
}
