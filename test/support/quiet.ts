/**
 * Lets a client lose its connection silently. Tests kill and stop servers, and ioredis writes each loss to the console
 * if nobody listens for it.
 */
export function quiet<C extends { on(event: 'error', listener: () => void): unknown }>(client: C): C {
  client.on('error', () => undefined)
  return client
}
