import { AsyncLocalStorage } from 'node:async_hooks'
import { ContextClock, type ManualClock } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Clock } from '../timing/clock.ts'
import type { ReleaseNotifier } from '../waiting/release-notifier.ts'
import { type PubsubNotifierOptions, pubsubNotifier } from './pubsub-notifier.ts'
import type { RedisSubscriber, SubscriberConnection, SubscriberListener } from './redis-subscriber.ts'

const never = new Promise<never>(() => undefined)

/** A server behind the subscriber port that does what a test tells it to. */
class ScriptedServer implements RedisSubscriber {
  readonly connections: ScriptedConnection[] = []
  /** When each attempt to connect began. */
  readonly attemptsMs: number[] = []
  readonly tenants = new AsyncLocalStorage<string>()
  /** The context in which each call was made. */
  readonly contexts: (string | undefined)[] = []
  refuses: Error | undefined
  isSilent = false
  readonly forbidden = new Set<string>()
  readonly #clock: ManualClock

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  get last(): ScriptedConnection {
    return this.connections.at(-1) as ScriptedConnection
  }

  async connect(listener: SubscriberListener): Promise<SubscriberConnection> {
    this.attemptsMs.push(this.#clock.monotonicMs())
    this.contexts.push(this.tenants.getStore())
    if (this.refuses) throw this.refuses
    if (this.isSilent) return never
    const connection = new ScriptedConnection(this, listener, this.#clock)
    this.connections.push(connection)
    return connection
  }
}

class ScriptedConnection implements SubscriberConnection {
  readonly asked: { readonly names: readonly string[]; readonly atMs: number }[] = []
  readonly subscribed = new Set<string>()
  isOpen = true
  isSilent = false
  /** Holds back the next answer. */
  untilAnswer: Promise<void> | undefined
  /** Runs before the next answer. */
  beforeAnswer: (() => void) | undefined
  readonly #server: ScriptedServer
  readonly #listener: SubscriberListener
  readonly #clock: ManualClock
  /** A socket calls its listeners in the context in which it was made. */
  readonly #inContext = AsyncLocalStorage.snapshot()

  constructor(server: ScriptedServer, listener: SubscriberListener, clock: ManualClock) {
    this.#server = server
    this.#listener = listener
    this.#clock = clock
  }

  async subscribe(names: readonly string[]): Promise<void> {
    this.asked.push({ names, atMs: this.#clock.monotonicMs() })
    this.#server.contexts.push(this.#server.tenants.getStore())
    if (this.isSilent) return never
    if (this.untilAnswer) await this.untilAnswer
    this.untilAnswer = undefined
    this.beforeAnswer?.()
    this.beforeAnswer = undefined
    if (names.some((name) => this.#server.forbidden.has(name))) throw new Error('NOPERM no such channel for you')
    for (const name of names) this.subscribed.add(name)
  }

  psubscribe(pattern: string): Promise<void> {
    return this.subscribe([pattern])
  }

  async unsubscribe(names: readonly string[]): Promise<void> {
    for (const name of names) this.subscribed.delete(name)
  }

  close(): void {
    this.isOpen = false
  }

  message(key: string, fence = 1): void {
    this.#inContext(() => this.#listener.message(`lock:release:${key}`, `released ${fence}`))
  }

  lose(cause?: Error): void {
    this.isOpen = false
    this.#inContext(() => this.#listener.lost(cause))
  }
}

let clock: ManualClock
let server: ScriptedServer
let notifier: ReleaseNotifier
let causes: unknown[]
let states: string[]

function notify(options?: PubsubNotifierOptions): ReleaseNotifier {
  const made = pubsubNotifier(server, { clock, ...options })
  made.onStateChange((state) => {
    states.push(state.type)
    if (state.type === 'disconnected') causes.push(state.cause)
  })
  return made
}

const askedAtMs = (): number[] => server.last.asked.map(({ atMs }) => atMs)

beforeEach(() => {
  clock = new ContextClock()
  server = new ScriptedServer(clock)
  causes = []
  states = []
  notifier = notify()
})
afterEach(async () => {
  vi.unstubAllGlobals()
  await notifier.close()
  expect(clock.pending).toBe(0)
})

const modes = [{ mode: 'channels' as const }, { mode: 'pattern' as const }]

describe.each(modes)('a connection that only listens ($mode)', ({ mode }) => {
  beforeEach(async () => {
    await notifier.close()
    notifier = notify({ mode })
  })

  it('is asked for a sign of life every five seconds while anybody waits', async () => {
    notifier.subscribe('k', '-')
    await clock.advance(21_000)
    expect(askedAtMs()).toEqual([0, 5_000, 10_000, 15_000, 20_000])
    expect(server.connections).toHaveLength(1)
    expect(causes).toEqual([])
  })

  it('is not asked while it brings messages', async () => {
    notifier.subscribe('k', '-')
    for (let second = 0; second < 20; second++) {
      await clock.advance(1_000)
      server.last.message('k')
    }
    expect(askedAtMs()).toEqual([0])
    await clock.advance(5_000)
    expect(askedAtMs()).toEqual([0, 25_000])
  })

  it('is not asked, and has no timer, while nobody waits', async () => {
    const subscription = notifier.subscribe('k', '-')
    await clock.advance(5_000)
    subscription.close()
    await clock.advance(1_000)
    expect(clock.pending).toBe(0)
    await clock.advance(60_000)
    expect(askedAtMs()).toEqual([0, 5_000])
  })

  it('that ends while nobody waits is made anew for the next who does, at once', async () => {
    const subscription = notifier.subscribe('k', '-')
    await clock.advance(0)
    subscription.close()
    await clock.advance(1_000)
    server.last.lose()
    await clock.advance(60_000)
    expect(clock.pending).toBe(0)
    server.connections.length = 0
    server.refuses = new Error('connect ECONNREFUSED')
    notifier.subscribe('k', '-').close()
    await clock.advance(10_000)
    expect(clock.pending).toBe(0)
    server.refuses = undefined
    const next = notifier.subscribe('k', '-')
    await clock.advance(0)
    expect(next.live).toBe(true)
    next.close()
    await clock.advance(0)
    server.last.lose()
    const soon = notifier.subscribe('k', '-')
    await clock.advance(0)
    expect(soon.live).toBe(true)
  })

  it('is asked at once when somebody waits again after a long time', async () => {
    notifier.subscribe('k', '-').close()
    await clock.advance(0)
    notifier.subscribe('k', '-').close()
    await clock.advance(60_000)
    notifier.subscribe('k', '-')
    await clock.advance(0)
    expect(askedAtMs().at(-1)).toBe(60_000)
  })

  it('and has gone silent is closed after two seconds; waiters are told, and check again once it is back', async () => {
    const subscriptions = Array.from({ length: 20 }, (_, at) => notifier.subscribe(`k${at % 4}`, '-'))
    await clock.advance(1_000)
    const [silent] = server.connections
    server.last.isSilent = true
    await clock.advance(5_999)
    expect(subscriptions.every(({ live }) => live)).toBe(true)
    await clock.advance(1)
    expect(silent?.isOpen).toBe(false)
    expect(subscriptions.some(({ live }) => live)).toBe(false)
    expect(causes).toEqual([expect.objectContaining({ message: expect.stringContaining('2000 ms') })])
    await clock.advance(100)
    expect(subscriptions.every(({ live }) => live)).toBe(true)
    const checkedAtMs: number[] = []
    for (const subscription of subscriptions) subscription.onSignal(0, () => checkedAtMs.push(clock.monotonicMs()))
    await clock.advance(250)
    expect(checkedAtMs).toHaveLength(20)
    expect(new Set(checkedAtMs).size).toBeGreaterThan(10)
    silent?.message('k0')
    expect(subscriptions.every(({ signals }) => signals === 1)).toBe(true)
    expect(server.connections).toHaveLength(2)
  })

  it('is taken for alive if a message comes instead of the answer, for as long as messages come', async () => {
    const subscription = notifier.subscribe('k', '-')
    await clock.advance(4_000)
    server.last.isSilent = true
    for (let second = 0; second < 10; second++) {
      await clock.advance(1_000)
      server.last.message('k')
    }
    expect(server.connections).toHaveLength(1)
    await clock.advance(4_000)
    expect(server.connections).toHaveLength(2)
    expect(subscription.live).toBe(true)
  })

  it('is asked at once when a waiter has found a release that nobody announced', async () => {
    const subscription = notifier.subscribe('k', '-')
    await clock.advance(1_000)
    server.last.isSilent = true
    subscription.suspect('7')
    // As does a waiter that was granted the lock.
    subscription.close()
    notifier.subscribe('other', '-')
    await clock.advance(2_000)
    expect(causes).toHaveLength(1)
    await clock.advance(100)
    expect(server.connections).toHaveLength(2)
  })
})

describe('that releases cannot be heard', () => {
  it('is told once with the reason, at the third attempt to connect that fails, and again after it had ended', async () => {
    server.refuses = new Error('connect ECONNREFUSED')
    const subscription = notifier.subscribe('k', '-')
    await clock.advance(0)
    await subscription.ready
    expect(server.attemptsMs).toHaveLength(1)
    expect(causes).toEqual([])
    await clock.advance(10_000)
    expect(server.attemptsMs[2]).toBeLessThan(1_000)
    expect(causes).toEqual([expect.objectContaining({ cause: server.refuses })])
    expect(String(causes[0])).toContain('ECONNREFUSED')
    server.refuses = undefined
    await clock.advance(2_300)
    expect(subscription).toMatchObject({ live: true, signals: 1 })
    server.refuses = new Error('WRONGPASS')
    server.last.lose()
    await clock.advance(10_000)
    expect(causes).toHaveLength(2)
    expect(causes[1]).toMatchObject({ cause: server.refuses })
  })

  it('is not told of a connection that is lost and soon comes back', async () => {
    notifier.subscribe('k', '-')
    for (let loss = 0; loss < 10; loss++) {
      await clock.advance(500)
      server.last.lose(new Error('ECONNRESET'))
    }
    await clock.advance(500)
    expect(server.connections).toHaveLength(11)
    expect(causes).toEqual([])
  })

  it('is told of a server that ends each connection before it answers, with growing pauses between', async () => {
    const connect = server.connect.bind(server)
    server.connect = async (listener) => {
      const connection = (await connect(listener)) as ScriptedConnection
      connection.isSilent = true
      queueMicrotask(() => queueMicrotask(() => connection.lose(new Error('ERR max number of clients reached'))))
      return connection
    }
    notifier.subscribe('k', '-')
    await clock.advance(20_000)
    expect(server.connections.length).toBeLessThan(25)
    expect(causes).toEqual([expect.objectContaining({ message: expect.stringContaining('max number of clients') })])
  })

  it('is told of a connection that is accepted and then says nothing', async () => {
    server.isSilent = true
    const subscription = notifier.subscribe('k', '-')
    await clock.advance(5_000)
    await subscription.ready
    expect(subscription.live).toBe(false)
    expect(causes).toEqual([expect.objectContaining({ message: expect.stringContaining('5000 ms') })])
  })

  it('is told of a subscription that is refused, until it is allowed, which is noticed without a new waiter', async () => {
    server.forbidden.add('lock:release:k')
    const subscription = notifier.subscribe('k', '-')
    await clock.advance(0)
    await subscription.ready
    expect(subscription.live).toBe(false)
    expect(causes).toEqual([expect.objectContaining({ message: expect.stringContaining('NOPERM') })])
    expect(String(causes[0])).toContain('lock:release:k')
    await clock.advance(60_000)
    notifier.subscribe('k', '-')
    await clock.advance(0)
    expect(causes).toHaveLength(1)
    server.forbidden.clear()
    await clock.advance(5_250)
    expect(subscription).toMatchObject({ live: true, signals: 1 })
    expect(states).toEqual(['disconnected', 'reconnected'])
    server.forbidden.add('lock:release:k')
    server.last.lose()
    await clock.advance(100)
    expect(causes).toHaveLength(2)
  })

  it('is told of the refusal of one key though another was refused before that nobody waits for any more', async () => {
    server.forbidden.add('lock:release:a').add('lock:release:b')
    const left = notifier.subscribe('a', '-')
    await clock.advance(0)
    left.close()
    await clock.advance(1_000)
    notifier.subscribe('b', '-')
    await clock.advance(0)
    expect(causes.map(String)).toEqual([
      expect.stringContaining('lock:release:a'),
      expect.stringContaining('lock:release:b'),
    ])
    // That nobody waits for the first anymore does not mean that anything is heard.
    expect(states).toEqual(['disconnected', 'disconnected'])
    await notifier.subscribe('free', '-').ready
    expect(states).toHaveLength(2)
    server.forbidden.clear()
    await clock.advance(6_000)
    expect(states).toEqual(['disconnected', 'disconnected', 'reconnected'])
  })

  it('is told that releases are heard again, not as soon as there is a connection but once it subscribes', async () => {
    server.refuses = new Error('connect ECONNREFUSED')
    notifier.subscribe('k', '-')
    await clock.advance(5_000)
    expect(states).toEqual(['disconnected'])
    server.refuses = undefined
    server.forbidden.add('lock:release:k')
    await clock.advance(5_000)
    expect(states).toEqual(['disconnected', 'disconnected'])
    expect(String(causes[1])).toContain('NOPERM')
    server.forbidden.clear()
    await clock.advance(10_000)
    expect(states).toEqual(['disconnected', 'disconnected', 'reconnected'])
  })

  it('is not told of the refusal of a key that nobody waits for any more', async () => {
    await notifier.subscribe('free', '-').ready
    server.forbidden.add('lock:release:a')
    let refuse = (): void => undefined
    server.last.untilAnswer = new Promise((resolve) => {
      refuse = resolve
    })
    const left = notifier.subscribe('a', '-')
    await clock.advance(0)
    left.close()
    await clock.advance(1_000)
    refuse()
    await clock.advance(0)
    expect(causes).toEqual([])
  })

  it('of one key costs the others nothing', async () => {
    const subscriptions = ['a', 'b', 'c'].map((key) => notifier.subscribe(key, '-'))
    await clock.advance(0)
    server.forbidden.add('lock:release:b')
    server.last.lose()
    await clock.advance(100)
    expect(server.connections).toHaveLength(2)
    expect(subscriptions.map(({ live }) => live)).toEqual([true, false, true])
  })

  it('several keys are allowed again together', async () => {
    const keys = ['a', 'b', 'c']
    for (const key of keys) server.forbidden.add(`lock:release:${key}`)
    notifier.subscribe('free', '-')
    const subscriptions = keys.map((key) => notifier.subscribe(key, '-'))
    await clock.advance(1_000)
    server.forbidden.clear()
    await clock.advance(4_000)
    expect(subscriptions.map(({ live }) => live)).toEqual([true, true, true])
    // All at once, then each by itself, then one as a probe, and the other two once that is confirmed.
    expect(server.last.asked.map(({ names }) => names.length)).toEqual([4, 1, 1, 1, 1, 1, 2])
  })

  it('is told to every listener, whatever another does, and to one that comes later at once', async () => {
    const thrown: unknown[] = []
    const onRejection = (error: unknown): void => void thrown.push(error)
    process.on('unhandledRejection', onRejection)
    notifier.onStateChange(() => {
      throw new Error('listener')
    })
    const withdrawn: unknown[] = []
    notifier.onStateChange((state) => withdrawn.push(state))()
    const second: unknown[] = []
    notifier.onStateChange((state) => second.push(state))
    server.forbidden.add('lock:release:k')
    notifier.subscribe('k', '-')
    await clock.advance(0)
    const late: unknown[] = []
    notifier.onStateChange((state) => late.push(state))
    expect(causes).toHaveLength(1)
    expect(second).toEqual([{ type: 'disconnected', cause: causes[0] }])
    expect(late).toEqual(second)
    expect(withdrawn).toEqual([])
    await clock.advance(0)
    expect(thrown).toEqual([new Error('listener')])
    process.off('unhandledRejection', onRejection)
  })

  it('a waiter that comes between two attempts does not wait for the next', async () => {
    server.refuses = new Error('connect ECONNREFUSED')
    notifier.subscribe('k', '-')
    await clock.advance(0)
    const attempts = server.attemptsMs.length
    let isReady = false
    void notifier.subscribe('other', '-').ready.then(() => {
      isReady = true
    })
    await clock.advance(0)
    expect(isReady).toBe(true)
    expect(server.attemptsMs).toHaveLength(attempts)
  })
})

describe('releases that nobody announces', () => {
  /** A waiter finds an unannounced release while its subscription is in order. */
  async function miss(key = 'k'): Promise<void> {
    const subscription = notifier.subscribe(key, '-')
    await clock.advance(0)
    subscription.suspect('7')
    subscription.close()
    await clock.advance(0)
  }

  it('are told of when two were missed in a row, once, until a message is heard', async () => {
    await miss('a')
    await clock.advance(2_000)
    expect(causes).toEqual([])
    await miss('b')
    expect(causes).toHaveLength(1)
    expect(String(causes[0])).toMatch(/prefix.*publish/)
    await clock.advance(2_000)
    await miss()
    expect(causes).toHaveLength(1)
    const listening = notifier.subscribe('k', '-')
    server.last.message('k')
    expect(states).toEqual(['disconnected', 'reconnected'])
    listening.close()
    for (let again = 0; again < 2; again++) {
      await clock.advance(2_000)
      await miss()
    }
    expect(causes).toHaveLength(2)
  })

  it('are not told of while messages that somebody waits for are heard in between', async () => {
    notifier.subscribe('other', '-')
    for (let round = 0; round < 10; round++) {
      await miss()
      await clock.advance(2_000)
      server.last.message('other')
    }
    expect(causes).toEqual([])
  })

  it('are told of although our own releases are heard, which nobody waits for', async () => {
    for (let round = 0; round < 2; round++) {
      const subscription = notifier.subscribe('k', '-')
      await clock.advance(0)
      // Our own release follows the grant at once.
      server.last.beforeAnswer = () => server.last.message('k', 8)
      subscription.suspect('7')
      subscription.close()
      await clock.advance(2_000)
    }
    expect(causes).toHaveLength(1)
  })

  it('many at once, as after a flush, count as one', async () => {
    const subscriptions = Array.from({ length: 100 }, (_, at) => notifier.subscribe(`k${at}`, '-'))
    await clock.advance(0)
    server.last.asked.length = 0
    for (const subscription of subscriptions) {
      await clock.advance(10)
      subscription.suspect('7')
    }
    await clock.advance(1_000)
    expect(causes).toEqual([])
  })

  it('are asked about once while an answer is awaited', async () => {
    const subscriptions = Array.from({ length: 100 }, (_, at) => notifier.subscribe(`k${at}`, '-'))
    await clock.advance(0)
    server.last.asked.length = 0
    for (const subscription of subscriptions) subscription.suspect('7')
    await clock.advance(0)
    expect(server.last.asked).toHaveLength(1)
  })

  it('were announced after all if the message comes before the server’s answer', async () => {
    for (let round = 0; round < 4; round++) {
      const subscription = notifier.subscribe('k', '-')
      await clock.advance(2_000)
      server.last.beforeAnswer = () => server.last.message('k', 7)
      subscription.suspect('7')
      // As does a waiter that was granted the lock.
      subscription.close()
      await clock.advance(0)
    }
    expect(causes).toEqual([])
  })

  it('are none if the connection turns out to be silent', async () => {
    const subscription = notifier.subscribe('k', '-')
    for (let round = 0; round < 3; round++) {
      await clock.advance(1_000)
      server.last.isSilent = true
      subscription.suspect('7')
      await clock.advance(2_100)
    }
    expect(causes.map(String)).toEqual(Array(3).fill(expect.stringContaining('2000 ms')))
  })

  it('are none while a reconnect may have lost the message', async () => {
    const subscription = notifier.subscribe('k', '-')
    for (let round = 0; round < 4; round++) {
      await clock.advance(2_000)
      server.last.lose()
      subscription.suspect('7')
      // The subscription is confirmed again, and the waiter has not checked yet.
      while (!subscription.live) await clock.advance(1)
      subscription.suspect('7')
    }
    await clock.advance(250)
    expect(server.last.asked).toHaveLength(1)
    expect(causes).toEqual([])
  })
})

describe('what goes on behind those who wait', () => {
  it('runs in the context in which the notifier was made, and not in that of whoever waits', async () => {
    const { tenants, contexts } = server
    const timers = new Set<string | undefined>()
    const schedule: Clock['schedule'] = (...timer) => {
      timers.add(tenants.getStore())
      return clock.schedule(...timer)
    }
    const seeing = { monotonicMs: () => clock.monotonicMs(), wallMs: () => clock.wallMs(), schedule }
    const made = tenants.run('maker', () => notify({ clock: seeing }))
    const wait = (tenant: string, key: string) => tenants.run(tenant, () => made.subscribe(key, '-'))
    const first = wait('tenant-1', 'a')
    const second = wait('tenant-2', 'b')
    await clock.advance(5_000)
    tenants.run('tenant-1', () => first.suspect('7'))
    await clock.advance(0)
    server.last.lose()
    await clock.advance(100)
    expect(server.connections).toHaveLength(2)
    // By then, both must have been told to check again.
    await clock.advance(250)
    tenants.run('tenant-2', () => second.close())
    await clock.advance(6_000)
    // Connecting, subscribing to both, a probe, a suspicion; connecting, subscribing again, a probe.
    expect(contexts).toHaveLength(7)
    expect(new Set(contexts)).toEqual(new Set(['maker']))
    expect(timers).toEqual(new Set(['maker']))
    await made.close()
  })

  it('runs in the context of whoever waits where calls share nothing', async () => {
    vi.stubGlobal('EdgeRuntime', 'edge-runtime')
    const { tenants, contexts } = server
    const subscriptions = ['tenant-1', 'tenant-2'].map((tenant) =>
      tenants.run(tenant, () => notifier.subscribe('k', '-')),
    )
    await clock.advance(0)
    expect(server.connections).toHaveLength(2)
    expect(contexts).toEqual(['tenant-1', 'tenant-2', 'tenant-1', 'tenant-2'])
    for (const subscription of subscriptions) subscription.close()
    expect(server.connections.some(({ isOpen }) => isOpen)).toBe(false)
  })
})

describe('a channel', () => {
  it('that is left and joined again while the server is slow is not left by what is late', async () => {
    notifier.subscribe('other', '-')
    await clock.advance(0)
    const { last } = server
    const answers: (() => void)[] = []
    const subscribe = last.subscribe.bind(last)
    last.subscribe = async (names) => {
      await subscribe(names)
      await new Promise<void>((resolve) => answers.push(resolve))
    }
    const early = notifier.subscribe('k', '-')
    await clock.advance(0)
    early.close()
    await clock.advance(1_000)
    const again = notifier.subscribe('k', '-')
    await clock.advance(0)
    for (const answer of answers) {
      answer()
      await clock.advance(0)
    }
    expect(again.live).toBe(true)
    expect(last.subscribed).toContain('lock:release:k')
  })
})
