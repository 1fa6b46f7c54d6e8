import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** `leasehold-gateway` as a process of its own, in front of a Redis. */
export interface Gateway extends AsyncDisposable {
  readonly url: string
  readonly token: string
}

const commands = fileURLToPath(new URL('../node_modules/.bin', import.meta.url))
const token = 'gateway-token-0123456789abcdef'

export async function startGateway(redisUrl: string): Promise<Gateway> {
  const child = spawn(join(commands, 'leasehold-gateway'), ['--port', '0'], {
    env: {
      // The same Node as ours.
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      // Not as flags, which other users of the machine could read.
      LEASEHOLD_GATEWAY_REDIS: redisUrl,
      LEASEHOLD_GATEWAY_TOKENS: token,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let problems = ''
  child.stderr.on('data', (chunk) => {
    problems += chunk
  })
  const ended = once(child, 'exit')
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(() => Promise.reject(new Error(`The gateway ended before it listened:\n${problems}`))),
  ])
  return {
    url: /http:\/\/\S+/.exec(line as string)?.[0] ?? '',
    token,
    async [Symbol.asyncDispose]() {
      child.kill()
      await ended
    },
  }
}
