import { once } from 'node:events'
import { Agent, createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type HttpProxy, startHttpProxy } from './http-proxy.ts'

/** A server that notes each request and answers it in capitals; at `/events` it says one thing and stays open. */
class Shouter {
  readonly heard: string[] = []
  readonly #server: Server

  constructor() {
    this.#server = createServer(async (request, response) => {
      if (request.url === '/events') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: open\n\n')
        request.socket.on('close', () => this.heard.push('left'))
        return
      }
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const text = Buffer.concat(chunks).toString()
      this.heard.push(text)
      response.writeHead(201, { 'x-heard': this.heard.length }).end(`${text.toUpperCase()}${this.heard.length}`)
    })
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

describe('HttpProxy', () => {
  let shouter: Shouter
  let target: string
  let proxy: HttpProxy

  beforeEach(async () => {
    shouter = new Shouter()
    target = await shouter.listen()
    proxy = await startHttpProxy({ target })
  })
  afterEach(async () => {
    await proxy.stop()
    shouter.stop()
  })

  const post = (body: string, path = '/', init: RequestInit = {}): Promise<Response> =>
    fetch(proxy.url + path, { method: 'POST', body, ...init })
  const ask = async (body: string, path?: string): Promise<string> => (await post(body, path)).text()
  /** Resolves to what the client got: a reply, or why there is none. */
  const told = (body: string, init?: RequestInit): Promise<string> =>
    post(body, '/', init).then(
      (response) => response.text(),
      (error: Error) => error.name,
    )

  it('passes requests and replies on, headers included, and counts them by path', async () => {
    const arrived = proxy.nextRequest()
    const response = await post('a', '/one?x=1', { headers: { 'x-mark': 'm' } })
    expect([response.status, response.headers.get('x-heard'), await response.text()]).toEqual([201, '1', 'A1'])
    const request = await arrived
    expect(request).toMatchObject({ method: 'POST', path: '/one', body: 'a', headers: { 'x-mark': 'm' } })
    expect(request.query.get('x')).toBe('1')
    await Promise.all([ask('b', '/two'), ask('c', '/two')])
    expect(proxy.requests).toEqual({ '/one': 1, '/two': 2 })
    expect(proxy.forwarded).toEqual(proxy.requests)
  })

  it('delays one direction, or both', async () => {
    proxy.delay(60, 'toClient')
    const start = performance.now()
    const carriedOut = proxy.nextReply().then(() => 'carried out')
    const answer = ask('a')
    expect(await Promise.race([carriedOut, answer])).toBe('carried out')
    expect(await answer).toBe('A1')
    expect(performance.now() - start).toBeGreaterThanOrEqual(59)
    proxy.delay(0)
    proxy.delay(60, 'toServer')
    const arrived = proxy.nextRequest()
    const second = ask('b')
    await arrived
    expect(proxy.forwarded).toEqual({ '/': 1 })
    expect(await second).toBe('B2')
  })

  it('lets the next request be carried out and cuts its connection', async () => {
    const dropped = proxy.dropNextReply('cut')
    expect(await told('set')).toBe('TypeError')
    await dropped
    expect(shouter.heard).toEqual(['set'])
    expect(await ask('next')).toBe('NEXT2')
  })

  it('lets the next request be carried out and never answers it', async () => {
    const dropped = proxy.dropNextReply('silence')
    const controller = new AbortController()
    const silent = told('set', { signal: controller.signal })
    await dropped
    expect(await ask('other')).toBe('OTHER2')
    controller.abort()
    expect(await silent).toBe('AbortError')
    expect(shouter.heard).toEqual(['set', 'other'])
  })

  it.each(['first', 'last'] as const)('sends the next request twice and delivers the %s reply', async (which) => {
    const duplicated = proxy.duplicateNext(which)
    expect(await ask('a')).toBe(which === 'first' ? 'A1' : 'A2')
    await duplicated
    expect(shouter.heard).toEqual(['a', 'a'])
    expect([proxy.requests, proxy.forwarded]).toEqual([{ '/': 1 }, { '/': 2 }])
  })

  it('sends every request twice until it is told otherwise', async () => {
    proxy.duplicate('last')
    expect([await ask('a'), await ask('b')]).toEqual(['A2', 'B4'])
    proxy.duplicate('first')
    expect(await ask('c')).toBe('C5')
    proxy.restore()
    expect(await ask('d')).toBe('D7')
    expect(shouter.heard).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'd'])
  })

  it('treats requests in turn, over and over', async () => {
    proxy.inTurn('forward', 'duplicate', 'drop')
    for (let round = 0; round < 2; round++) {
      expect([await ask('a'), await ask('b')]).toEqual([`A${round * 4 + 1}`, `B${round * 4 + 2}`])
      await expect(ask('c')).rejects.toThrow()
    }
    proxy.restore()
    expect(await ask('d')).toBe('D9')
    expect(shouter.heard).toEqual(['a', 'b', 'b', 'c', 'a', 'b', 'b', 'c', 'd'])
  })

  it('answers the first request of each connection only, and carries all out', async () => {
    proxy.cutKeptAlive()
    // One connection at a time: the next request waits for it.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const overIt = (body: string): Promise<string> =>
      new Promise((resolve) => {
        const sent = request(proxy.url, { method: 'POST', agent }, (reply) => {
          reply.setEncoding('utf8').on('data', resolve)
        })
        sent.on('error', ({ message }) => resolve(message)).end(body)
      })
    expect([await overIt('a'), await overIt('b'), await overIt('c')]).toEqual(['A1', 'socket hang up', 'C3'])
    proxy.restore()
    expect(await overIt('d')).toBe('D4')
    expect(shouter.heard).toEqual(['a', 'b', 'c', 'd'])
    agent.destroy()
  })

  it('lets others overtake a request, and sends it then', async () => {
    const before = proxy.nextRequest()
    proxy.delay(30)
    const early = ask('early')
    await before
    proxy.delay(0)
    const reordered = proxy.reorderNext(2)
    const arrived = proxy.nextRequest()
    const held = ask('held')
    await arrived
    // A request that came before does not count as overtaking it.
    expect(await early).toBe('EARLY1')
    await ask('b')
    expect(shouter.heard).toEqual(['early', 'b'])
    await ask('c')
    await reordered
    expect(await held).toBe('HELD4')
    expect(shouter.heard).toEqual(['early', 'b', 'c', 'held'])
  })

  it('sends what it held back although the client has gone', async () => {
    const reordered = proxy.reorderNext()
    const controller = new AbortController()
    const arrived = proxy.nextRequest()
    const held = told('held', { signal: controller.signal })
    await arrived
    controller.abort()
    expect(await held).toBe('AbortError')
    await ask('b')
    await reordered
    await expect.poll(() => shouter.heard).toEqual(['b', 'held'])
  })

  it('answers by itself, once or until it is told otherwise', async () => {
    proxy.answerNext({ status: 429 })
    const limited = await post('a')
    expect([limited.status, await limited.text()]).toEqual([429, ''])
    expect(await ask('b')).toBe('B1')
    proxy.answer({ status: 502, body: '<html>é', headers: { 'content-type': 'text/html' } })
    for (let round = 0; round < 2; round++) {
      const response = await post('c')
      expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
        502,
        'text/html',
        '<html>é',
      ])
    }
    proxy.restore()
    expect(await ask('d')).toBe('D2')
    expect([proxy.requests, proxy.forwarded]).toEqual([{ '/': 5 }, { '/': 2 }])
  })

  it('is silent as a black hole, and brings what was sent when it ends', async () => {
    proxy.blackHole()
    const answer = ask('late')
    // Once a round trip that bypasses the proxy is over, one through it would be over too.
    expect(await (await fetch(target, { method: 'POST', body: 'probe' })).text()).toBe('PROBE1')
    expect([shouter.heard, proxy.forwarded]).toEqual([['probe'], {}])
    proxy.restore()
    expect(await answer).toBe('LATE2')
  })

  it('cuts all connections and accepts new ones', async () => {
    proxy.blackHole()
    const arrived = proxy.nextRequest()
    const answer = told('a')
    await arrived
    proxy.cut()
    expect(await answer).toBe('TypeError')
    proxy.restore()
    expect(await ask('again')).toMatch(/^AGAIN/)
  })

  it('passes an event stream on as it comes, and its end by the client', async () => {
    const controller = new AbortController()
    const response = await fetch(`${proxy.url}/events`, { signal: controller.signal })
    const reader = response.body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: open\n\n')
    controller.abort()
    await expect.poll(() => shouter.heard).toEqual(['left'])
  })

  it('ends a client’s connection when the server cannot be reached', async () => {
    shouter.stop()
    expect(await told('a')).toBe('TypeError')
  })

  it('ends everything when it is stopped', async () => {
    proxy.blackHole()
    const arrived = proxy.nextRequest()
    const answer = told('a')
    await arrived
    await proxy.stop()
    expect(await answer).toBe('TypeError')
    expect(await told('b')).toBe('TypeError')
    expect(shouter.heard).toEqual([])
  })
})
