import { Agent, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { bridgeToken } from '../contestants/bridges.ts'
import { connectIoredis } from '../contestants/connect-ioredis.ts'
import { nowMs, until } from '../measure/clock.ts'

export interface WaitersOrder {
  readonly url: string
  readonly kind: 'poll' | 'stream'
  /** One waiter for each: a key that many wait for is named often. */
  readonly keys: readonly string[]
  /** The cursor of the locks' holders. */
  readonly cursor: string
}

export interface WakeUp {
  readonly key: string
  /** In milliseconds of `nowMs`. */
  readonly at: number
}

/** The number of connections being opened at a time: more would overflow a server's listen queue. */
const opensAtOnce = 64
/** How long a client lets a poll wait, in seconds. */
const longestPollS = 25
/** No wake-up takes longer; a lost one should not hang the bench. */
const wakeUpLimitMs = 30_000

/**
 * The jobs of a process that waits at a bridge, or releases what others wait for. It uses bare sockets and reads no
 * more than it must: its own garbage would be taken for the bridge's delay.
 */
export function bridgeJobs(port: number) {
  const sockets = new Set<Socket>()
  const problems: string[] = []
  let heard: WakeUp[] = []
  let onHeard = (): unknown => undefined
  const hear = (key: string): void => {
    heard.push({ key, at: nowMs() })
    onHeard()
  }

  /** A connection that should last until `leave`. */
  function dial({ url }: WaitersOrder): Socket {
    const { hostname, port: bridgePort } = new URL(url)
    const socket = connect({ host: hostname, port: Number(bridgePort), noDelay: true }).setEncoding('latin1')
    const complain = (what: string): void => {
      if (sockets.delete(socket)) problems.push(what)
    }
    sockets.add(socket)
    socket.on('error', (error) => complain(String(error)))
    socket.on('close', () => complain('A connection was closed'))
    return socket
  }

  /** Resolves when the request has been sent; polls again on timeout, as clients do. */
  function poll(order: WaitersOrder, key: string, firstS: number): Promise<void> {
    const socket = dial(order)
    const ask = (timeoutS: number, sent?: () => void): boolean =>
      socket.write(request(`/v1/wait?key=${key}&since=${order.cursor}&timeout=${timeoutS}s`), sent)
    // Each answer comes in one piece, and after one with a body there is no further request.
    socket.on('data', (answer: string) => {
      if (answer.startsWith('HTTP/1.1 200 ')) hear(key)
      else if (answer.startsWith('HTTP/1.1 204 ')) ask(longestPollS)
      else problems.push(`A poll was answered ${answer.slice(0, 40)}`)
    })
    return new Promise((sent) => ask(firstS, () => sent()))
  }

  /** Resolves when the first state has arrived. */
  function stream(order: WaitersOrder, key: string): Promise<void> {
    const socket = dial(order)
    socket.write(request(`/v1/events?key=${key}`))
    return new Promise((told) => {
      let rest = ''
      socket.on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          if (line === 'event: release') hear(key)
          else if (line === 'event: state') told()
          else if (line.startsWith('HTTP/') && !line.includes(' 200 ')) problems.push(`A stream was answered ${line}`)
        }
      })
      socket.once('close', () => told())
    })
  }

  return {
    /** Opens the waiters, and resolves when each poll was sent or each stream has begun. */
    async openWaiters(order: WaitersOrder): Promise<void> {
      const keys = [...order.keys]
      // The first poll ends sooner, at a different time for each: long-standing waiters poll again at different times.
      const firstS = (): number => 1 + ((keys.length * 7) % longestPollS)
      const opener = async (): Promise<void> => {
        for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
          await (order.kind === 'poll' ? poll(order, key, firstS()) : stream(order, key))
        }
      }
      await Promise.all(Array.from({ length: opensAtOnce }, opener))
      if (problems.length > 0) throw new Error(`${problems.length} problems, the first: ${problems[0]}`)
    },

    /** Resolves with the wake-ups since the last call, once there are `count` of them. */
    async wakeUps({ count }: { readonly count: number }): Promise<readonly WakeUp[]> {
      const all = new Promise<boolean>((resolve) => {
        onHeard = () => heard.length >= count && resolve(true)
        onHeard()
      })
      const isComplete = await Promise.race([all, sleep(wakeUpLimitMs, false, { ref: false })])
      if (!isComplete) throw new Error(`Of ${count} wake-ups ${heard.length} came. ${problems.join(' ')}`)
      const taken = heard
      heard = []
      return taken
    },

    /** Closes every connection. */
    async leave(): Promise<void> {
      const left = [...sockets]
      sockets.clear()
      for (const socket of left) socket.destroy()
    },

    /** Releases each key as its holder would, and returns when each release was sent. */
    async releaseEach(order: {
      readonly keys: readonly string[]
      readonly everyMs: number
    }): Promise<readonly WakeUp[]> {
      const redis = await connectIoredis(port)
      const sent: WakeUp[] = []
      const startAt = nowMs()
      for (const [turn, key] of order.keys.entries()) {
        await until(startAt + turn * order.everyMs)
        sent.push({ key, at: nowMs() })
        await redis.multi().del(`lock:${key}`).publish(`lock:release:${key}`, 'released 1').exec()
      }
      redis.disconnect()
      return sent
    },

    /** How long each immediately answered request took, over one connection, in milliseconds. */
    async httpRoundTrips(order: { readonly url: string; readonly count: number; readonly everyMs: number }) {
      const agent = new Agent({ keepAlive: true })
      const times: number[] = []
      while (times.length < order.count) {
        await sleep(order.everyMs)
        const from = nowMs()
        await new Promise<unknown>((resolve, reject) => {
          get(`${order.url}/healthz`, { agent }, (response) => response.resume().once('end', resolve)).once(
            'error',
            reject,
          )
        })
        times.push(nowMs() - from)
      }
      agent.destroy()
      return times
    },
  }
}

const request = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: bridge\r\nAuthorization: Bearer ${bridgeToken}\r\n\r\n`
