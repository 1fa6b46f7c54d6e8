/*
 * The minimum that reports releases over HTTP: Node's own server, and one subscription. It has no locks, tokens,
 * limits, timeouts or heartbeats. Argument: the port of the Redis.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connectIoredis } from './connect-ioredis.ts'

const channelPrefix = 'lock:release:'
const polls = new Map<string, Set<ServerResponse>>()
const streams = new Map<string, Set<ServerResponse>>()
const open = { waits: 0, streams: 0 }

const redis = await connectIoredis(Number(process.argv[2]))
redis.on('pmessage', (_pattern: string, channel: string) => {
  const key = channel.slice(channelPrefix.length)
  const [first] = polls.get(key) ?? []
  if (first) {
    first.writeHead(200, { 'content-type': 'application/json' })
    first.end('{"changed":true}')
  }
  for (const stream of streams.get(key) ?? []) stream.write(`event: release\ndata: ${JSON.stringify({ key })}\n\n`)
})
await redis.psubscribe(`${channelPrefix}*`)

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://bare')
  const key = searchParams.get('key') ?? ''
  if (pathname === '/v1/wait') join(polls, 'waits', key, response)
  else if (pathname === '/v1/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`event: state\ndata: ${JSON.stringify({ key })}\n\n`)
    join(streams, 'streams', key, response)
  } else response.end(`waits ${open.waits}\nstreams ${open.streams}\n`)
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
})

function join(all: typeof polls, what: keyof typeof open, key: string, response: ServerResponse): void {
  const those = all.get(key) ?? new Set()
  all.set(key, those.add(response))
  open[what]++
  response.once('close', () => {
    open[what]--
    those.delete(response)
    if (those.size === 0) all.delete(key)
  })
}
