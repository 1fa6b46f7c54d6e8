/**
 * Reads a request's body. If it is larger than `maxBytes`, stops reading and resolves with undefined.
 *
 * @throws TypeError or another error of the runtime if the client leaves meanwhile.
 */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  const length = request.headers.get('content-length')
  if (length !== null && !request.headers.has('transfer-encoding')) {
    // The server reads no more than the header announces.
    return Number(length) <= maxBytes ? new Uint8Array(await request.arrayBuffer()) : undefined
  }
  if (!request.body) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = request.body.getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length
    if (size > maxBytes) {
      await reader.cancel()
      return undefined
    }
    chunks.push(part.value)
  }
  return joined(chunks, size)
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size)
  let start = 0
  for (const chunk of chunks) {
    bytes.set(chunk, start)
    start += chunk.length
  }
  return bytes
}
