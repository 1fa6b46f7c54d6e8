import type { BridgeAnswer } from './bridge-endpoint.ts'
import { longestText } from './figures.ts'

/**
 * Reads a body to its end. The callback gets the text it left unread last time, followed by the new text, and returns
 * what it leaves unread.
 *
 * @returns the text left unread at the end
 * @throws whatever the body or the callback throws
 * @throws Error if more is left than a bridge sends in one piece, so that no other server can exhaust the memory
 */
export async function readText({ body }: BridgeAnswer, take: (text: string) => string): Promise<string> {
  const decoder = new TextDecoder()
  const reader = body?.getReader()
  let left = ''
  while (reader && left.length < longestText) {
    const { done, value } = await reader.read()
    if (done) return left
    left = take(left + decoder.decode(value as Uint8Array<ArrayBuffer>, { stream: true }))
  }
  throw new Error('This is no bridge')
}

/** Reads a body as JSON. Rejects if it is not JSON. */
export const readJson = async (answer: BridgeAnswer): Promise<unknown> =>
  JSON.parse(await readText(answer, (text) => text))
