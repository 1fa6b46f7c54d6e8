/**
 * Lets a client lose its connection without a word. Tests kill and stop servers, and ioredis writes each loss to the console
 * while nobody listens for it.
 */
export function quiet<C extends { on(event: 'error', listener: () => void): unknown }>(client: C): C {
  client.on('error', () => undefined)
  return client
}
