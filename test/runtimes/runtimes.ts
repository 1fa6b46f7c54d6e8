import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A runtime for which the packages are published, and how it runs a program. */
export interface Runtime {
  readonly name: string
  /** Undefined if the runtime is not available for this machine. */
  readonly binary: string | undefined
  readonly flags: readonly string[]
  /** Additional flags for programs whose client library opens sockets. */
  readonly flagsForTcp: readonly string[]
  /** Whether the bridge's programs are published for it, too. */
  readonly serves: boolean
}

const { platform, arch } = process

/** A file of a package that is installed only on the machines it is built for. */
function installed(path: string): string | undefined {
  const file = fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url))
  return existsSync(file) ? file : undefined
}

const node = (version: number | string, path: string): Runtime => ({
  name: `Node ${version}`,
  binary: installed(path),
  flags: [],
  flagsForTcp: [],
  serves: true,
})

/** The oldest Node for which the packages are published, 20.9, or the nearest version available for the machine. */
export const oldestNode: Runtime =
  arch === 'arm64'
    ? node('20.10', `node-20.10-${platform}-arm64/bin/node`)
    : node('20.9', `node-20.9-${platform}-${arch}/bin/node`)

export const node24: Runtime = node(24, 'node/bin/node')

/** None of them may download what it does not find: there are only the packages as built. */
export const runtimes: readonly Runtime[] = [
  node(20, `node-20-${platform}-${arch}/bin/node`),
  node(22, `node-22-${platform}-${arch}/bin/node`),
  node24,
  {
    name: 'Bun 1',
    binary: installed(`@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}/bin/bun`),
    flags: ['--no-install'],
    flagsForTcp: [],
    serves: false,
  },
  {
    name: 'Deno 2',
    binary: installed(`@deno/${platform}-${arch}-glibc/deno`),
    flags: ['run', '--no-prompt', '--no-remote', '--node-modules-dir=manual', '--allow-net=127.0.0.1'],
    // ioredis reads the environment to see whether debugging is on.
    flagsForTcp: ['--allow-env'],
    serves: false,
  },
]
