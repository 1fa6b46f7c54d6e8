import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { BridgeContestant } from '../contestants/bridges.ts'
import { sum } from '../measure/statistics.ts'

/** What a process uses, in bytes and in milliseconds of processor time since it started. */
export interface ProcessUse {
  readonly rss: number
  readonly heap: number
  readonly cpuMs: number
}

export interface UseRequest {
  /** Collects garbage first; with `last-resort` also drops compiled code, and gives back all free memory. */
  readonly collect?: 'regular' | 'last-resort'
}

export interface BridgeProcess extends AsyncDisposable {
  readonly url: string
  use(request?: UseRequest): Promise<ProcessUse>
  /** A metric from its Prometheus page, by the end of its name; several with different labels are added up. */
  metric(name: string): Promise<number>
}

const probe = new URL('./process-probe.ts', import.meta.url).href
const startLimitMs = 30_000
/** How long the process may take to report its use: a full garbage collection takes seconds. */
const answerLimitMs = 30_000

/** Starts such a program in a separate process, and resolves when it is ready. */
export async function startBridgeProcess(
  { name, program, args, nodeArgs = [], env }: BridgeContestant,
  redisPort: number,
): Promise<BridgeProcess> {
  const child = fork(program, args(redisPort), {
    env: { ...process.env, ...env },
    execArgv: [...nodeArgs, '--expose-gc', '--import', probe],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  let out = ''
  const timer = setTimeout(() => child.kill('SIGKILL'), startLimitMs)
  const ready = new Promise<readonly [url: string, metricsUrl: string]>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`${name} has ended, or was not ready within ${startLimitMs} ms: ${out}`)))
    child.stdout?.on('data', (chunk) => {
      out += chunk
      const url = /"url":"([^"]+)"/.exec(out)?.[1]
      const metricsUrl = /"metricsUrl":"([^"]+)"/.exec(out)?.[1]
      if (url !== undefined) resolve([url, metricsUrl ?? url])
    })
  }).finally(() => clearTimeout(timer))
  try {
    const [url, metricsUrl] = await ready
    return {
      url,
      async use(request = {}) {
        const told = once(child, 'message', { signal: AbortSignal.timeout(answerLimitMs) })
        child.send(request)
        const [use] = await told
        return use as ProcessUse
      },
      async metric(metricName) {
        // A kept-alive connection would count as open.
        const asked = { headers: { connection: 'close' }, signal: AbortSignal.timeout(answerLimitMs) }
        const page = await (await fetch(`${metricsUrl}/metrics`, asked)).text()
        const values = page.matchAll(new RegExp(`^\\w*${metricName}(?:\\{.*\\})? (\\d+)`, 'gm'))
        return sum(Array.from(values, ([, value]) => Number(value)))
      },
      [Symbol.asyncDispose]: end,
    }
  } catch (error) {
    await end()
    throw error
  }
}
