/*
 * A separate server with sessions, each with its own WebSocket. A client's first message says who enters, and the answer
 * is whether it was let in. A session with the role of a writer reports every 10 ms that it is believed. Arguments: the
 * port of Redis or of a proxy in front of it, the prefix, its name, the ttl in milliseconds.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createLocker, StoreUnavailableError } from '@leasehold/core'
import { ioredisBackend } from '@leasehold/ioredis'
import { type Entered, type EnterOptions, type Session, type SessionEnd, sessions } from '@leasehold/sessions'
import { Redis } from 'ioredis'
import { WebSocketServer } from 'ws'
import { heapBytes } from './heap.ts'
import { quiet } from './quiet.ts'

export type SessionOrder = { readonly type: 'measure' } | { readonly type: 'close' }

export type SessionNews =
  /** Where its clients connect. */
  | { readonly type: 'ready'; readonly port: number }
  | { readonly type: 'ended'; readonly end: SessionEnd; readonly sessionId: string }
  /** When a session was believed last. */
  | { readonly type: 'believed'; readonly atMs: number }
  | {
      readonly type: 'measured'
      readonly size: number
      readonly delayP99Ms: number
      readonly delayMaxMs: number
      readonly heapBytes: number
    }
  | { readonly type: 'closed' }

const [port = '', prefix = '', name = '', ttl = ''] = process.argv.slice(2)
const redis = quiet(new Redis(Number(port), '127.0.0.1'))
const locks = createLocker({ ...ioredisBackend(redis, { prefix }), name })
const tell = (news: SessionNews): unknown => process.connected && process.send?.(news)

const registry = sessions(locks, {
  ttl: Number(ttl),
  silence: 3 * Number(ttl),
  sharedRoles: ['reader'],
  onEvent({ type, session }) {
    if (type !== 'entered') tell({ type: 'ended', end: type, sessionId: session.sessionId })
  },
})

/** A backlog for thousands of clients that connect at once. */
const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1', backlog: 4_096 })
sockets.on('connection', (socket) => {
  socket.on('error', () => undefined)
  socket.once('message', async (asked) => {
    const outcome = await insist({ ...JSON.parse(String(asked)), socket })
    socket.send(outcome.type)
    if (outcome.type === 'entered' && outcome.session.role === 'writer') believe(outcome.session)
  })
})
const delay = monitorEventLoopDelay({ resolution: 5 })

/** Like a client that tries again, on a machine that is too busy for a short ttl. */
async function insist(options: EnterOptions): Promise<Entered> {
  for (let tries = 1; ; tries++) {
    try {
      return await registry.enter(options)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || tries === 20) throw error
    }
  }
}

function believe(session: Session): void {
  const act = setInterval(() => {
    if (session.isValid) tell({ type: 'believed', atMs: Date.now() })
    else clearInterval(act)
  }, 10)
}

async function measure(): Promise<void> {
  const [delayP99Ms, delayMaxMs] = [delay.percentile(99) / 1e6, delay.max / 1e6]
  delay.disable()
  tell({ type: 'measured', size: registry.size, delayP99Ms, delayMaxMs, heapBytes: await heapBytes() })
  delay.reset()
  delay.enable()
}

async function close(): Promise<void> {
  await registry.close()
  tell({ type: 'closed' })
  sockets.close()
  await locks.close()
  redis.disconnect()
  process.disconnect?.()
}

process.on('message', (order: SessionOrder) => {
  if (order.type === 'measure') void measure()
  else void close()
})

await Promise.all([redis.status === 'ready' || once(redis, 'ready'), once(sockets, 'listening')])
tell({ type: 'ready', port: (sockets.address() as AddressInfo).port })
