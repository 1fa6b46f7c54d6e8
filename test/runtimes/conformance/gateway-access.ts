import type { Listening, StoreUnderTest } from '@leasehold/testkit/conformance'

/** Where a Redis is reached over HTTP, and with which token. */
export interface Gateway {
  readonly url: string
  readonly token: string
}

/** Timers and Redis both work in whole milliseconds: what should be over is certainly over a little later. */
const marginMs = 50

/** Every key that matches a pattern and its remaining time, read at one moment. */
const everyEntry = `
  local entries = {}
  for i, name in ipairs(redis.call('KEYS', ARGV[1])) do entries[i] = {name, redis.call('PTTL', name)} end
  return entries`

/**
 * What `storeConformance` needs in addition to a Redis store, over the gateway alone: workerd has no socket that Redis
 * would understand.
 */
export function gatewayAccess(
  gateway: Gateway,
  prefix: string,
): Required<Pick<StoreUnderTest, 'admin' | 'advance' | 'listen' | 'listenInbox' | 'skip'>> {
  const command = (...args: readonly (string | number)[]): Promise<unknown> => ask(gateway, args)
  return {
    admin: {
      async remove(key) {
        await command('DEL', prefix + key)
      },
      async replace(key, ms, value = 'foreign-holder') {
        await command('SET', prefix + key, value, ...(ms === null ? [] : ['PX', ms]))
      },
      async expiresInMs(key) {
        const left = Number(await command('PTTL', prefix + key))
        if (left === -2) return undefined
        return left === -1 ? null : left
      },
      async entriesOf(key) {
        const names = await command('EVAL', everyEntry, 0, `*${key.replace(/[\\*?[\]]/g, '\\$&')}*`)
        return (names as readonly [string, number][]).map(([name, left]) => ({
          name,
          expiresInMs: left === -1 ? null : left,
        }))
      },
    },
    advance: (ms) => new Promise((resolve) => setTimeout(resolve, ms + marginMs)),
    listen: (key) => listen(gateway, `${prefix}release:${key}`),
    listenInbox: (inbox) => listen(gateway, `${prefix}turn:${inbox}`),
    skip: {
      'wall-clock': 'the clock of a Redis server is the machine’s',
      'long-times': 'time really passes',
      'subscriber-count': uncounted,
      'inbox-count': uncounted,
    },
  }
}

const uncounted = 'over HTTP nobody knows how many servers there are behind'

async function ask({ url, token }: Gateway, command: readonly (string | number)[]): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(command) })
  const answer = (await response.json()) as { readonly result?: unknown; readonly error?: string }
  if (answer.error !== undefined) throw new Error(answer.error)
  return answer.result
}

/** Listens on the gateway's event stream, whose first event says that Redis has confirmed the subscription. */
async function listen({ url, token }: Gateway, channel: string): Promise<Listening> {
  const headers = { authorization: `Bearer ${token}` }
  const { body } = await fetch(`${url}/subscribe/${channel}`, { headers })
  if (!body) throw new Error('The gateway opened no event stream')
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  const payloads: string[] = []
  let confirm = (): void => undefined
  const confirmed = new Promise<void>((resolve) => {
    confirm = resolve
  })
  const read = async (): Promise<void> => {
    let text = ''
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      text += chunk.value
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        if (event === `data: subscribe,${channel},1`) confirm()
        const message = `data: message,${channel},`
        if (event.startsWith(message)) payloads.push(event.slice(message.length))
      }
    }
  }
  const reading = read()
  await Promise.race([confirmed, reading])
  return {
    payloads,
    async close() {
      await reader.cancel()
      await reading
    },
  }
}
