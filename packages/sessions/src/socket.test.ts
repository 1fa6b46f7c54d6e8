import { EventEmitter } from 'node:events'
import { createLocker, LeaseholdError } from '@leasehold/core'
import { type Fate, follow, ManualClock, refusing, replyAfter, ScriptedStore } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Session, type Sessions, type SocketLike, sessions } from './index.ts'

/** A fake `ws` socket, with the part that is used. */
class Socket extends EventEmitter implements SocketLike {
  readyState = 1
  pings = 0
  closed: readonly [code?: number, reason?: string] | 'terminated' | undefined
  /** Whether its client answers pings. */
  answers = true

  ping(): void {
    this.pings++
    if (this.answers) this.emit('pong')
  }

  close(...how: [code?: number, reason?: string]): void {
    this.closed ??= how
    this.end()
  }

  terminate(): void {
    this.closed ??= 'terminated'
    this.end()
  }

  end(): void {
    if (this.readyState === 3) return
    this.readyState = 3
    this.emit('close')
  }
}

let clock: ManualClock
let store: ScriptedStore
let registry: Sessions
let socket: Socket
beforeEach(() => {
  clock = new ManualClock()
  store = new ScriptedStore(clock)
  registry = sessions(createLocker({ store, clock }), { ttl: '3s', silence: '6s', sharedRoles: ['reader'], clock })
  socket = new Socket()
})

const asked = { resource: 'doc', role: 'writer', userId: 'ada', sessionId: 'tab' }

async function entered(options: object = {}): Promise<Session> {
  const entering = follow(registry.enter({ ...asked, socket, ...options }), clock)
  await clock.advance(0)
  expect(entering.value?.type).toBe('entered')
  return (entering.value as { session: Session }).session
}

/** If a look finds sessions of this server missing, they ask at once what became of them. */
async function looked(): Promise<void> {
  registry.watch('doc', () => undefined)
  await clock.advance(50)
}

/** Holds back the answers to enters until the promise is resolved. */
function heldBack(fate: Fate): PromiseWithResolvers<void> {
  const answering = Promise.withResolvers<void>()
  store.always('presence.enter', async (sending) => {
    const outcomes = await fate(sending)
    await answering.promise
    return outcomes
  })
  return answering
}

describe('the socket of a session', () => {
  it('is pinged, and keeps the session alive for as long as it answers', async () => {
    const session = await entered()
    await clock.advance(30_000)
    expect([session.end, socket.pings]).toEqual([undefined, 15])
    socket.answers = false
    await clock.advance(8_500)
    expect([session.end, socket.closed]).toEqual(['silent', 'terminated'])
  })

  it('keeps it alive by a message, too', async () => {
    const session = await entered()
    socket.answers = false
    for (let second = 0; second < 20; second++) {
      socket.emit('message')
      await clock.advance(1_000)
    }
    expect(session.end).toBeUndefined()
  })

  it('ends it when it closes', async () => {
    const session = await entered()
    socket.end()
    await clock.advance(0)
    expect([session.end, registry.size]).toEqual(['left', 0])
  })

  it('that closes while its session enters leaves no member behind', async () => {
    store.next('presence.enter', replyAfter(100))
    const entering = follow(registry.enter({ ...asked, socket }), clock)
    await clock.advance(50)
    socket.end()
    await clock.advance(100)
    expect(entering.value).toMatchObject({ type: 'entered', session: { end: 'left' } })
    const looking = follow(registry.members('doc'), clock)
    await clock.advance(0)
    expect([looking.value, registry.size]).toEqual([[], 0])
  })

  it('that is closed already gets no place', async () => {
    socket.end()
    expect((await entered()).end).toBe('left')
  })

  it('stays when its session takes another role, and serves several rooms', async () => {
    const reader = await entered({ role: 'reader' })
    const other = await entered({ resource: 'other' })
    const writer = await entered()
    expect([reader.end, writer.end, socket.closed]).toEqual(['taken-over', undefined, undefined])
    await writer.leave()
    expect(socket.closed).toBeUndefined()
    await other.leave()
    expect(socket.closed).toEqual([1000, 'left'])
  })

  it('stays even if the old role is known to be gone before the new one is', async () => {
    const reader = await entered({ role: 'reader' })
    const answering = heldBack(async ({ execute }) => execute())
    const entering = follow(registry.enter({ ...asked, socket }), clock)
    await looked()
    expect([reader.end, entering.state]).toEqual(['taken-over', 'pending'])
    answering.resolve()
    await clock.advance(0)
    expect([entering.value, socket.closed]).toMatchObject([{ session: { end: undefined } }, undefined])
  })

  it('is closed once a further enter has failed, if its only session was lost meanwhile', async () => {
    await entered({ role: 'reader' })
    store.always('presence.look', async () => [{ type: 'room', version: '1', entries: [] }] as never)
    store.always('presence.renew', async () => [{ type: 'gone' }] as never)
    const answering = heldBack(refusing(new LeaseholdError('INVALID_OPTION', 'The room is full')))
    const entering = follow(registry.enter({ ...asked, socket }), clock)
    await looked()
    expect([registry.size, socket.closed]).toEqual([0, undefined])
    answering.resolve()
    await clock.advance(0)
    expect([entering.state, socket.closed]).toEqual(['rejected', [4003, 'lost']])
  })

  it('is closed when its session is taken over: the client learns why', async () => {
    await entered()
    await entered({ userId: 'bob', socket: new Socket(), takeOver: 'anyone' })
    expect(socket.closed).toEqual([4001, 'taken-over'])
  })

  it('is closed when its session is lost', async () => {
    const session = await entered()
    clock.block(5_000)
    await clock.advance(0)
    expect([session.end, socket.closed]).toEqual(['lost', [4003, 'lost']])
  })

  it('of a refused session is left alone', async () => {
    await entered()
    const rival = new Socket()
    const refused = follow(registry.enter({ ...asked, userId: 'bob', socket: rival }), clock)
    await clock.advance(0)
    expect([refused.value?.type, rival.closed]).toEqual(['held', undefined])
  })
})
