import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

/** A server that notes each request and answers it in capitals. */
class Shouter {
  heard = ''
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor() {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('data', (chunk) => {
        this.heard += chunk
        socket.write(chunk.toString().toUpperCase())
      })
    })
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as { port: number }).port
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}

describe('TcpProxy', () => {
  let shouter: Shouter
  let shouterPort: number
  let proxy: TcpProxy
  const sockets: Socket[] = []

  beforeEach(async () => {
    shouter = new Shouter()
    shouterPort = await shouter.listen()
    proxy = await startTcpProxy({ port: shouterPort })
  })
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await proxy.stop()
    shouter.stop()
  })

  async function client(): Promise<Socket> {
    const socket = connect(proxy.port, '127.0.0.1')
    socket.on('error', () => undefined)
    sockets.push(socket)
    await once(socket, 'connect')
    return socket
  }
  const reply = async (socket: Socket): Promise<string> => String(((await once(socket, 'data')) as [Buffer])[0])
  async function ask(socket: Socket, request: string): Promise<string> {
    const answer = reply(socket)
    socket.write(request)
    return answer
  }
  /** Everything the client receives until its connection ends. */
  async function untilClosed(socket: Socket): Promise<string> {
    let told = ''
    socket.on('data', (chunk) => {
      told += chunk
    })
    await once(socket, 'close')
    return told
  }

  it('passes everything on, and counts it', async () => {
    const socket = await client()
    expect(await ask(socket, 'one')).toBe('ONE')
    expect(await ask(await client(), 'three')).toBe('THREE')
    expect(proxy.bytes).toEqual({ toServer: 8, toClient: 8 })
    expect([proxy.accepted, proxy.connections]).toEqual([2, 2])
    socket.end()
    await expect.poll(() => proxy.connections).toBe(1)
  })

  it('passes the end of a connection on after the bytes before it', async () => {
    const socket = await client()
    proxy.delay(20)
    const told = untilClosed(socket)
    socket.end('bye')
    expect(await told).toBe('BYE')
  })

  it('delays one direction, or both, and keeps the order', async () => {
    const socket = await client()
    await ask(socket, 'warm')
    proxy.delay(60, 'toClient')
    const start = performance.now()
    const arrived = proxy.nextReply()
    const answer = ask(socket, 'a')
    expect(await Promise.race([arrived.then(() => 'arrived here'), answer])).toBe('arrived here')
    proxy.delay(0)
    socket.write('b')
    expect(await answer).toMatch(/^A/)
    expect(performance.now() - start).toBeGreaterThanOrEqual(59)
    expect(shouter.heard).toBe('warmab')
  })

  it('cuts all connections and accepts new ones', async () => {
    const [first, second] = [await client(), await client()]
    await ask(first, 'a')
    proxy.cut()
    await Promise.all([untilClosed(first), untilClosed(second)])
    expect(await ask(await client(), 'again')).toBe('AGAIN')
  })

  it('refuses new connections only, until it accepts them again', async () => {
    const open = await client()
    proxy.refuse()
    await expect(client()).rejects.toThrow('ECONNREFUSED')
    expect(await ask(open, 'still')).toBe('STILL')
    await proxy.accept()
    expect(await ask(await client(), 'back')).toBe('BACK')
  })

  it('cuts the connection after exactly so many bytes to the server', async () => {
    const socket = await client()
    proxy.cutAfter(8)
    expect(await ask(socket, 'first')).toBe('FIRST')
    const told = untilClosed(socket)
    socket.write('second')
    expect(await told).not.toContain('SECOND')
    await expect.poll(() => shouter.heard).toBe('firstsec')
    expect(await ask(await client(), 'whole again')).toBe('WHOLE AGAIN')
  })

  it('is silent as a black hole, for old and new connections, and brings what was sent when it ends', async () => {
    const old = await client()
    proxy.blackHole()
    const young = await client()
    const answers = [ask(old, 'old'), ask(young, 'young')]
    // Once a round trip that bypasses the proxy is over, theirs would be over too.
    const probe = connect(shouterPort, '127.0.0.1')
    sockets.push(probe)
    expect(await ask(probe, 'probe')).toBe('PROBE')
    expect([shouter.heard, proxy.bytes]).toEqual(['probe', { toServer: 0, toClient: 0 }])
    expect([old.closed, young.closed]).toEqual([false, false])
    proxy.restore()
    expect(await Promise.all(answers)).toEqual(['OLD', 'YOUNG'])
  })

  it('lets a request be carried out and drops the reply and the connection', async () => {
    const [socket, bystander] = [await client(), await client()]
    const dropped = proxy.dropNextReply('cut')
    const told = untilClosed(socket)
    socket.write('set')
    await dropped
    expect(await told).toBe('')
    expect(shouter.heard).toBe('set')
    expect(await ask(bystander, 'unharmed')).toBe('UNHARMED')
  })

  it('lets a request be carried out, drops the reply and leaves the connection open and silent', async () => {
    const socket = await client()
    const dropped = proxy.dropNextReply('silence')
    socket.write('set')
    await dropped
    socket.once('data', () => expect.unreachable())
    socket.write('more')
    expect(await ask(await client(), 'other')).toBe('OTHER')
    expect([shouter.heard, socket.closed]).toEqual(['setother', false])
  })

  it('waits for the next request when the first ended without a reply', async () => {
    const mute = await client()
    const release = proxy.holdReplies()
    const dropped = proxy.dropNextReply()
    const passed = proxy.nextReply()
    mute.write('first')
    await passed
    proxy.cut()
    await expect.poll(() => proxy.connections).toBe(0)
    release()
    const socket = await client()
    const told = untilClosed(socket)
    socket.write('second')
    await dropped
    expect([await told, shouter.heard]).toEqual(['', 'firstsecond'])
  })

  it('holds replies back until it is told to release them, in order', async () => {
    const socket = await client()
    const release = proxy.holdReplies()
    for (const request of ['a', 'b', 'c']) {
      const arrived = proxy.nextReply()
      socket.write(request)
      await arrived
    }
    expect([shouter.heard, proxy.bytes.toClient]).toEqual(['abc', 0])
    const told = untilClosed(socket)
    release()
    release()
    socket.end()
    expect(await told).toBe('ABC')
  })

  it('ends a client’s connection when the server cannot be reached', async () => {
    shouter.stop()
    await untilClosed(await client())
    expect(proxy.connections).toBe(0)
  })

  it('ends everything when it is stopped', async () => {
    const socket = await client()
    const closed = untilClosed(socket)
    proxy.blackHole()
    await proxy.stop()
    await closed
    await expect(client()).rejects.toThrow('ECONNREFUSED')
  })
})
