import { gatewayToken, gatewayUrl } from './gateway.ts'

/** The minimum client of the gateway: `fetch`, and JSON both ways. */
export function restClient(port: number): (command: readonly (string | number)[]) => Promise<unknown> {
  const url = gatewayUrl(port)
  const headers = { authorization: `Bearer ${gatewayToken}`, 'content-type': 'application/json' }
  return async (command) => {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(command) })
    const { result, error } = (await response.json()) as { readonly result?: unknown; readonly error?: string }
    if (error !== undefined) throw new Error(error)
    return result
  }
}
