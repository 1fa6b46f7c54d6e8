import type { Socket } from 'node:net'

/** Joins the two connections of a way to Redis: when one ends, both do. What is written is sent at once. */
export function joinSockets(...joined: readonly [client: Socket, redis: Socket]): void {
  for (const socket of joined) {
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      for (const each of joined) each.destroy()
    })
  }
}
