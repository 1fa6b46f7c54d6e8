import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../running-program.ts'
import { type Runtime, runtimes } from '../runtimes.ts'
import { programOf } from './bundle.ts'
import type { ClaimResult } from './claim-runner.ts'
import type { Client } from './clients.ts'
import type { Servers } from './declare.ts'
import { runInWorkerd } from './in-workerd.ts'

/** A runtime where claims can be run. */
export interface Place {
  readonly name: string
  /** False if the runtime is not available for this machine. */
  readonly exists: boolean
  /** Runs the claims about a client. Rejects if anything else goes wrong, and when the signal is aborted. */
  run(client: Client, servers: Servers | undefined, signal: AbortSignal): Promise<readonly ClaimResult[]>
}

const workerd: Place = { name: 'workerd', exists: true, run: runInWorkerd }

export const places: readonly Place[] = [
  ...runtimes.map(
    (runtime): Place => ({
      name: runtime.name,
      exists: runtime.binary !== undefined,
      run: (...how) => runInProcess(runtime, ...how),
    }),
  ),
  workerd,
]

/** In a separate process, in a folder with nothing but the program and the clients. */
async function runInProcess(
  { binary = '', flags, flagsForTcp }: Runtime,
  client: Client,
  servers: Servers | undefined,
  signal: AbortSignal,
): Promise<readonly ClaimResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-claims-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'))
    const file = join(folder, 'program.js')
    writeFileSync(file, await programOf(client))
    const program = runProgram([binary, ...flags, ...flagsForTcp, file, JSON.stringify(servers ?? {})], folder)
    signal.addEventListener('abort', program.kill)
    const { code, lines, err } = await program.ended
    if (code !== 0 || err !== '' || lines.length !== 1) {
      throw new Error(
        `It ended with ${signal.aborted ? 'its time' : code}: ${[err, ...lines].join('\n').slice(0, 5_000)}`,
      )
    }
    return JSON.parse(lines[0] as string) as readonly ClaimResult[]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
