import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface RunningProgram {
  readonly child: ChildProcess
  /** The first line on stdout. Rejects if the program ends without one. */
  readonly firstLine: Promise<string>
  /** The output on stdout so far. */
  out(): string
  /** Its exit code, and what it wrote. */
  readonly ended: Promise<{ code: number | null; out: string; err: string }>
}

/** Starts a program of this package. Kill its child when the test is over. */
export function runProgram(
  main: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): RunningProgram {
  const { PATH, LEASEHOLD_TEST_RUN, NODE_COMPILE_CACHE } = process.env
  const inherited = { PATH, LEASEHOLD_TEST_RUN, NODE_COMPILE_CACHE }
  const child = spawn(process.execPath, [main, ...args], { env: { ...inherited, ...env } })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, out, err }))
  const lines = createInterface({ input: child.stdout })
  const firstLine = Promise.race([
    once(lines, 'line').then(([line]) => line as string),
    ended.then((what) => Promise.reject(new Error(`It ended: ${JSON.stringify(what)}`))),
  ])
  firstLine.catch(() => undefined)
  return { child, firstLine, out: () => out, ended }
}

/** How long a program may take to report that it is ready, in milliseconds. */
const readyMs = 45_000

/**
 * Resolves with the URL of the bridge program once it reports that it is ready. If it does not in time, it is killed.
 */
export async function readyUrl({ child, ended }: RunningProgram): Promise<string> {
  let out = ''
  const limit = setTimeout(() => child.kill('SIGKILL'), readyMs)
  return new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      out += chunk
      const url = /"url":"([^"]+)"/.exec(out)?.[1]
      if (url) resolve(url)
    })
    void ended.then((what) => reject(new Error(`It ended: ${JSON.stringify(what)}`)))
  }).finally(() => clearTimeout(limit))
}

/** `leasehold-bridge` as a separate process that can die and come back. */
export interface BridgeProgram extends AsyncDisposable {
  /** Where it listens; unchanged by a restart. */
  readonly url: string
  readonly port: number
  readonly token: string
  /** The value of a metric on its Prometheus page; 0 if it is not there yet. */
  metric(name: string): Promise<number>
  /** The size of its heap in bytes after a full garbage collection. */
  collectedHeap(): Promise<number>
  /** Kills the process at once, as in a crash. */
  kill(): Promise<void>
  /** Starts it again, on the same port. Only after `kill`. */
  restart(): Promise<void>
}

const collecting = `--expose-gc --import ${new URL('collect-on-signal.ts', import.meta.url)}`

async function collectedHeap({ child, ended }: RunningProgram): Promise<number> {
  const said = new Promise<number>((resolve, reject) => {
    let err = ''
    child.stderr?.on('data', function listener(chunk) {
      err += chunk
      const bytes = /^collected: (\d+)\n/m.exec(err)?.[1]
      if (bytes === undefined) return
      child.stderr?.off('data', listener)
      resolve(Number(bytes))
    })
    void ended.then((what) => reject(new Error(`It ended: ${JSON.stringify(what)}`)))
  })
  child.kill('SIGUSR2')
  return said
}

const bridgeMain = fileURLToPath(new URL('../src/bin/bridge.ts', import.meta.url))
const bridgeToken = 'test-token-5a08-0123456789abcdef0123'
const metricsToken = 'metrics-token-5a08-0123456789abcdef01'

/** Starts the bridge program on a free port of 127.0.0.1. */
export async function startBridgeProgram(redisUrl: string): Promise<BridgeProgram> {
  const env = {
    LEASEHOLD_BRIDGE_REDIS: redisUrl,
    LEASEHOLD_BRIDGE_TOKENS: bridgeToken,
    LEASEHOLD_BRIDGE_METRICS_TOKEN: metricsToken,
    NODE_OPTIONS: collecting,
  }
  const run = (port: string): RunningProgram => runProgram(bridgeMain, ['--port', port], env)
  let running = run('0')
  const url = await readyUrl(running)
  const { port } = new URL(url)
  async function kill(): Promise<void> {
    running.child.kill('SIGKILL')
    await running.ended
  }
  async function metric(name: string): Promise<number> {
    const page = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })).text()
    const values = page.matchAll(/^(\w+)(?:\{.*\})? (\S+)$/gm)
    return Array.from(values, ([, of, value]) => (of === name ? Number(value) : 0)).reduce(
      (sum, value) => sum + value,
      0,
    )
  }
  return {
    url,
    port: Number(port),
    token: bridgeToken,
    metric,
    collectedHeap: () => collectedHeap(running),
    kill,
    async restart() {
      running = run(port)
      await readyUrl(running)
    },
    [Symbol.asyncDispose]: kill,
  }
}
