import type { BridgeAnswer } from './bridge-endpoint.ts'
import { longestText } from './figures.ts'

/**
 * Reads a body to its end. The callback takes what it left the last time with what has come since, and answers what it leaves
 * for the next.
 *
 * @returns what is left at the end
 * @throws what the body or the callback throws
 * @throws Error when more is left than a bridge says in one piece, so that whatever else answers cannot fill the memory
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

/** Reads a body that is JSON. Rejects for any other. */
export const readJson = async (answer: BridgeAnswer): Promise<unknown> =>
  JSON.parse(await readText(answer, (text) => text))
