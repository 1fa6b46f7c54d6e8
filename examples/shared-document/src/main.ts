/**
 * A server for one shared document: its page, and the sockets of the open pages. Start as many servers as you like on
 * one Redis.
 */

import type { AddressInfo } from 'node:net'
import { createLocker, type Duration } from '@leasehold/core'
import { ioredisBackend } from '@leasehold/ioredis'
import { sessions } from '@leasehold/sessions'
import { Redis } from 'ioredis'
import { WebSocketServer } from 'ws'
import type { Role } from './messages.ts'
import { pageServer } from './page-server.ts'
import { Room } from './room.ts'
import { SharedDocument } from './shared-document.ts'

const { REDIS_URL = 'redis://127.0.0.1:6379', PORT = '3000', HOST = '127.0.0.1', SERVER_NAME } = process.env
const ttl = (process.env['SESSION_TTL'] ?? '6s') as Duration

const redis = new Redis(REDIS_URL)
redis.on('error', (error) => console.error(`Redis: ${error.message}`))
const locks = createLocker({ ...ioredisBackend(redis), ...(SERVER_NAME && { name: SERVER_NAME }) })
const registry = sessions(locks, { ttl, silence: ttl, sharedRoles: ['reader'] })
const document = new SharedDocument(redis, 'shared-document')
const room = new Room(registry, document, 'document:1')
await room.open()

const server = pageServer()
const sockets = new WebSocketServer({ server, path: '/socket', maxPayload: 100_000 })
sockets.on('connection', (socket, request) => {
  const asked = new URL(request.url ?? '/', 'http://localhost').searchParams
  // The name stands in for your authentication: never take a user's word for who they are.
  const [user = '', tab = '', role = ''] = ['user', 'tab', 'role'].map((name) => asked.get(name) ?? '')
  const roles: readonly string[] = ['writer', 'reviewer', 'reader'] satisfies readonly Role[]
  void room.welcome(socket, { user, tab, role: (roles.includes(role) ? role : 'reader') as Role })
})
server.listen(Number(PORT), HOST, () => {
  const { port } = server.address() as AddressInfo
  console.log(`The document is at http://${HOST}:${port}`)
})

/** Ends all sessions of this server now, not when their entries expire. */
async function stop(): Promise<void> {
  setTimeout(() => process.exit(1), 5_000).unref()
  server.close()
  await registry.close()
  await locks.close()
  for (const socket of sockets.clients) socket.close(1012, 'the server stops')
  document.close()
  redis.disconnect()
}
process.once('SIGTERM', () => void stop())
process.once('SIGINT', () => void stop())
