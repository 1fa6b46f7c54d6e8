/*
 * A separate server with sessions, whose clients give a sign of life every 100 ms. Each of its sessions reports as
 * often that it is believed. Arguments: the port of Redis or of a proxy in front of it, the prefix, its name, the ttl
 * in milliseconds.
 */
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createLocker, StoreUnavailableError } from '@leasehold/core'
import { ioredisBackend } from '@leasehold/ioredis'
import { type Entered, type EnterOptions, type Session, type SessionEnd, sessions } from '@leasehold/sessions'
import { Redis } from 'ioredis'
import { heapBytes } from './heap.ts'
import { quiet } from './quiet.ts'

export type SessionOrder =
  | { readonly type: 'enter'; readonly entering: readonly EnterOptions[] }
  | { readonly type: 'measure' }
  | { readonly type: 'close' }

export type SessionNews =
  | { readonly type: 'ready' }
  | { readonly type: 'entered'; readonly count: number }
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
const alive = new Set<Session>()

const registry = sessions(locks, {
  ttl: Number(ttl),
  silence: 3 * Number(ttl),
  sharedRoles: ['reader'],
  onEvent({ type, session }) {
    if (type === 'entered') return
    alive.delete(session)
    tell({ type: 'ended', end: type, sessionId: session.sessionId })
  },
})

const beat = setInterval(() => {
  for (const session of alive) registry.seen(session)
}, 100)
const delay = monitorEventLoopDelay({ resolution: 5 })

/** Like a client that reconnects, on a machine that is too busy for a short ttl. */
async function insist(options: EnterOptions): Promise<Entered> {
  for (let tries = 1; ; tries++) {
    try {
      return await registry.enter(options)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || tries === 20) throw error
    }
  }
}

async function enter(entering: readonly EnterOptions[]): Promise<void> {
  const outcomes = await Promise.all(
    entering.map(async (options) => {
      const outcome = await insist(options)
      if (outcome.type === 'held') return false
      const { session } = outcome
      alive.add(session)
      if (options.role !== 'writer') return true
      const act = setInterval(() => {
        if (session.isValid) tell({ type: 'believed', atMs: Date.now() })
        else clearInterval(act)
      }, 10)
      return true
    }),
  )
  tell({ type: 'entered', count: outcomes.filter(Boolean).length })
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
  clearInterval(beat)
  await locks.close()
  redis.disconnect()
  process.disconnect?.()
}

process.on('message', (order: SessionOrder) => {
  if (order.type === 'enter') void enter(order.entering)
  else if (order.type === 'measure') void measure()
  else void close()
})

if (redis.status !== 'ready') await once(redis, 'ready')
tell({ type: 'ready' })
