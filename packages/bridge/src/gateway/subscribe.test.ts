import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../test/gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ heartbeatMs: 50, maxStreams: 150 })
})
afterAll(() => gateway[Symbol.asyncDispose]())

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  await nobodySubscribes()
})

type Subscriber = ReturnType<ReturnType<TestGateway['client']>['subscribe']>

/** Resolves with the messages of a subscriber of the unmodified client, once it is subscribed. */
async function following(subscriber: Subscriber, event: 'message' | 'pmessage'): Promise<unknown[]> {
  const messages: unknown[] = []
  ends.push(() => subscriber.unsubscribe())
  subscriber.on(event, (message: unknown) => messages.push(message))
  await new Promise<void>((resolve, reject) => {
    subscriber.on(event === 'message' ? 'subscribe' : 'psubscribe', (count: number) => {
      expect(count).toBe(1)
      resolve()
    })
    subscriber.on('error', reject)
  })
  return messages
}

const subscribers = async (channel: string): Promise<unknown> =>
  ((await gateway.server.command('PUBSUB', 'NUMSUB', channel)) as readonly unknown[])[1]
const nobodySubscribes = async (): Promise<void> => {
  await expect.poll(() => gateway.server.command('PUBSUB', 'CHANNELS')).toEqual([])
  await expect.poll(() => gateway.server.command('PUBSUB', 'NUMPAT')).toBe(0)
}

describe('the unmodified client', () => {
  test.each(['news', 'lock:release:order/1', 'with space & ünïcode 🔑', 'question?yes=no', 'a+b;c=d'])(
    'hears what is published on %j',
    async (channel) => {
      const client = gateway.client({ automaticDeserialization: false })
      const messages = await following(client.subscribe([channel]), 'message')
      expect(await client.publish(channel, 'released 1')).toBe(1)
      await client.publish(channel, 'a,b, ü 🔑')
      await expect
        .poll(() => messages)
        .toEqual([
          { channel, message: 'released 1' },
          { channel, message: 'a,b, ü 🔑' },
        ])
    },
  )

  test.each(['lock:release:*', 'lock:release:order?1', 'lock:release:[a-z]*'])(
    'hears what is published on channels of the pattern %j',
    async (pattern) => {
      const client = gateway.client()
      const messages = await following(client.psubscribe([pattern]) as unknown as Subscriber, 'pmessage')
      await client.publish('lock:other', 'nothing')
      await client.publish('lock:release:order/1', { released: 1 })
      await expect
        .poll(() => messages)
        .toEqual([{ pattern, channel: 'lock:release:order/1', message: { released: 1 } }])
    },
  )

  test('of several subscriptions, ends the one it names', async () => {
    const client = gateway.client()
    const one = client.subscribe(['one', 'two'])
    const messages = await following(one, 'message')
    await expect.poll(() => subscribers('two')).toBe(1)
    await one.unsubscribe(['one'])
    await expect.poll(() => subscribers('one')).toBe(0)
    expect(await subscribers('two')).toBe(1)
    await client.publish('two', 'still')
    await expect.poll(() => messages).toEqual([{ channel: 'two', message: 'still' }])
  })

  test('cannot be made to hear what was not published: line breaks in a payload or a channel forge nothing', async () => {
    const client = gateway.client({ automaticDeserialization: false })
    const messages = await following(client.psubscribe(['*']) as unknown as Subscriber, 'pmessage')
    for (const lineBreak of ['\n', '\r\n', '\r']) {
      for (const indent of ['', ' ', '  ']) {
        const forged = `${indent}pmessage,*,other,forged`
        await client.publish('real', `first${lineBreak}${forged}${lineBreak}data: ${forged}`)
        await client.publish(`channel${lineBreak}${forged}`, 'x')
      }
    }
    await client.publish('real', 'end')
    await expect.poll(() => messages.at(-1)).toMatchObject({ message: 'end' })
    expect(messages.filter((message) => (message as { channel: string }).channel === 'other')).toEqual([])
    expect(messages.filter((message) => (message as { message: string }).message === 'first')).toHaveLength(9)
  })

  test('is told of a refusal as an error', async () => {
    const client = gateway.client({ token: 'wrong' })
    await expect(following(client.subscribe(['news']), 'message')).rejects.toMatchObject({ name: 'UpstashError' })
    expect(await subscribers('news')).toBe(0)
  })
})

describe('an event stream', () => {
  /** Opens a stream, bypassing the client, and reads its lines. */
  async function open(path: string): Promise<{ response: Response; line: () => Promise<string> }> {
    const leave = new AbortController()
    ends.push(() => leave.abort())
    const response = await gateway.request(path, { signal: leave.signal })
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    async function line(): Promise<string> {
      for (;;) {
        const end = text.indexOf('\n')
        if (end >= 0) {
          const found = text.slice(0, end)
          text = text.slice(end + 1)
          if (found !== '') return found
        } else {
          const { done, value } = await reader.read()
          if (done) throw new Error('The stream has ended')
          text += value
        }
      }
    }
    return { response, line }
  }
  async function next(line: () => Promise<string>): Promise<string> {
    for (;;) {
      const found = await line()
      if (!found.startsWith(':')) return found
    }
  }

  test('has its headers and confirmation at once, then heartbeats while nothing happens', async () => {
    const { response, line } = await open('/subscribe/quiet')
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await line()).toBe('data: subscribe,quiet,1')
    expect(await line()).toBe(': heartbeat')
    expect(await line()).toBe(': heartbeat')
  })

  test.each([
    ['/subscribe/a%2Fb', 'a/b'],
    ['/subscribe/100%25', '100%'],
    ['/subscribe/100%', '100%'],
    ['/subscribe/a%23b%3Fc%5C', 'a#b?c\\'],
    ['/subscribe/a//b/', 'a//b/'],
    ['/subscribe/a?', 'a?'],
  ])('at %s is of the channel %s', async (path, channel) => {
    const { line } = await open(path)
    expect(await next(line)).toBe(`data: subscribe,${channel},1`)
    expect(await subscribers(channel)).toBe(1)
  })

  test('carries a payload of several lines as the standard has it', async () => {
    const { line } = await open('/subscribe/lines')
    expect(await next(line)).toBe('data: subscribe,lines,1')
    await gateway.server.command('PUBLISH', 'lines', 'one\n two\nthree')
    expect([await next(line), await next(line), await next(line)]).toEqual([
      'data: message,lines,one',
      'data:  two',
      'data:three',
    ])
  })

  test('is refused without a name, and when too many are open', async () => {
    expect((await gateway.request('/subscribe/')).status).toBe(400)
    expect((await gateway.request('/psubscribe')).status).toBe(400)
    await Promise.all(Array.from({ length: 150 }, () => open('/subscribe/many')))
    const refused = await gateway.request('/subscribe/one-more')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toEqual({ error: expect.stringMatching(/^TOOMANY event streams: 150 /) })
  })

  test('shares one connection and one subscription with all others', async () => {
    const streams = await Promise.all([1, 2, 3].map(() => open('/subscribe/shared')))
    streams.push(...(await Promise.all(['a', 'b'].map((name) => open(`/psubscribe/${name}*`)))))
    for (const { line } of streams) expect(await next(line)).toMatch(/^data: p?subscribe,/)
    expect(await subscribers('shared')).toBe(1)
    const clients = String(await gateway.server.command('CLIENT', 'LIST', 'TYPE', 'pubsub'))
      .trim()
      .split('\n')
    expect(clients).toEqual([expect.stringMatching(/ sub=1 psub=2 /)])
    expect(await gateway.server.command('PUBLISH', 'shared', 'x')).toBe(1)
    for (const { line } of streams.slice(0, 3)) expect(await next(line)).toBe('data: message,shared,x')
  })

  test('is gone, with its subscription, when its client is: 100 that vanish leave nothing', async () => {
    const sockets = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
        const path = index % 2 ? `/subscribe/vanish-${index % 10}` : `/psubscribe/vanish-${index}*`
        socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`)
        for await (const [chunk] of on(socket)) if (String(chunk).includes('subscribe,')) break
        return socket
      }),
    )
    expect(await gateway.server.command('PUBSUB', 'NUMPAT')).toBe(50)
    expect(await gateway.server.command('PUBSUB', 'CHANNELS')).toHaveLength(5)
    for (const socket of sockets) socket.resetAndDestroy()
    await nobodySubscribes()
    const list = String(await gateway.server.command('CLIENT', 'LIST', 'TYPE', 'pubsub')).trim()
    expect(list).toBe('')
  })

  test('that its client leaves before Redis has confirmed it leaves nothing either', async () => {
    // Makes the connection ready, so that the next subscription is requested at once.
    const { line } = await open('/subscribe/other')
    expect(await next(line)).toBe('data: subscribe,other,1')
    const subscriptions = async (): Promise<number> =>
      Number(/cmdstat_subscribe:calls=(\d+)/.exec(String(await gateway.server.command('INFO', 'commandstats')))?.[1])
    const before = await subscriptions()
    const left = Promise.withResolvers<void>()
    const { subscribe } = gateway.redis
    const asked = vi.spyOn(gateway.redis, 'subscribe').mockImplementation((topic, listener) => {
      const unsubscribe = subscribe(topic, listener)
      return () => {
        unsubscribe()
        left.resolve()
      }
    })
    ends.push(() => asked.mockRestore())

    gateway.server.pause()
    ends.push(() => gateway.server.resume())
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    socket.write(`GET /subscribe/early HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`)
    await expect.poll(() => asked.mock.calls).toHaveLength(1)
    socket.destroy()
    await left.promise
    gateway.server.resume()
    // Redis has processed the subscription, and is told that nobody wants it anymore.
    await expect.poll(subscriptions).toBe(before + 1)
    await expect.poll(() => subscribers('early')).toBe(0)
  })

  test('of a reader that does not read is ended, so that it does not pile up', async () => {
    // The HTTP server logs the error that ends a body.
    const log = vi.spyOn(console, 'error').mockReturnValue()
    ends.push(() => log.mockRestore())
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    ends.push(() => socket.destroy())
    socket.write(`GET /subscribe/slow HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`)
    for await (const [chunk] of on(socket)) if (String(chunk).includes('subscribe,')) break
    socket.pause()
    const payload = 'x'.repeat(500_000)
    await expect
      .poll(
        async () => {
          await gateway.server.command('PUBLISH', 'slow', payload)
          return await subscribers('slow')
        },
        { interval: 5 },
      )
      .toBe(0)
    expect(log.mock.calls).toEqual([[new Error('The reader of an event stream left too much unread')]])
  })
})

async function* on(socket: ReturnType<typeof connect>): AsyncGenerator<[Buffer]> {
  for (;;) yield (await once(socket, 'data')) as [Buffer]
}

describe('of several tokens', () => {
  const other = 'other-token-77b0-0123456789abcdef-0123456789abcdef'

  /** Opens a stream with a token; resolves with the response and a function that ends it. */
  async function open(at: TestGateway, by: string): Promise<{ response: Response; leave: () => void }> {
    const gone = new AbortController()
    const headers = { authorization: `Bearer ${by}` }
    const response = await at.request('/subscribe/a', { headers, signal: gone.signal })
    return { response, leave: () => gone.abort() }
  }

  test('none can take the streams of another: each has an equal share, which is free again when they end', async () => {
    await using shared = await startTestGateway({ tokens: [token, other], maxStreams: 5, heartbeatMs: 50 })
    const taken = [await open(shared, token), await open(shared, token)]
    const refused = await open(shared, token)
    expect(refused.response.status).toBe(429)
    expect(refused.response.headers.get('retry-after')).toBe('1')
    taken.push(await open(shared, other), await open(shared, other))
    expect(taken.map(({ response }) => response.status)).toEqual([200, 200, 200, 200])
    taken[0]?.leave()
    await expect.poll(async () => (await open(shared, token)).response.status).toBe(200)
    expect((await open(shared, token)).response.status).toBe(429)
  })

  test('each may have more than its share when told so, up to the total', async () => {
    await using shared = await startTestGateway({ tokens: [token, other], maxStreams: 3, maxStreamsPerToken: 2 })
    expect((await open(shared, token)).response.status).toBe(200)
    expect((await open(shared, token)).response.status).toBe(200)
    expect((await open(shared, other)).response.status).toBe(200)
    const { response } = await open(shared, other)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toEqual({ error: expect.stringMatching(/^UNAVAILABLE .*3 event streams/) })
  })

  test('a stream that Redis did not confirm gives its place back', async () => {
    await using shared = await startTestGateway({ maxStreams: 1 })
    await shared.server.command('ACL', 'SETUSER', 'default', 'resetchannels')
    for (const _ of [1, 2]) expect((await open(shared, token)).response.status).toBe(400)
    await shared.server.command('ACL', 'SETUSER', 'default', 'allchannels')
    expect((await open(shared, token)).response.status).toBe(200)
  })
})
