import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { inflate } from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { vi } from 'vitest'

/** Chromium as one file and the libraries that it needs, for the processors that have a package. */
const packaged = process.platform === 'linux' && process.arch === 'x64'
const ofTheSystem = '/usr/bin/chromium'

/** Why Chromium is not available here; undefined if it is. */
export const noChromium: string | undefined =
  packaged || existsSync(ofTheSystem) ? undefined : 'the package has Chromium for Linux on x64 only'

/**
 * Starts Chromium, which keeps what it writes in this folder. No security is relaxed: a page may request what any page
 * may.
 */
export async function startChromium(folder: string): Promise<Browser> {
  const files = packaged ? await onceUnpacked() : undefined
  return chromium.launch({
    executablePath: files ? join(files, 'chromium') : ofTheSystem,
    // It runs as root, where there is no sandbox; and it contacts nobody outside.
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    env: {
      PATH: process.env['PATH'] ?? '',
      LEASEHOLD_TEST_RUN: process.env['LEASEHOLD_TEST_RUN'] ?? '',
      HOME: folder,
      TMPDIR: folder,
      ...(files && { LD_LIBRARY_PATH: join(files, 'al2023/lib') }),
    },
  })
}

let unpacked: Promise<string> | undefined
const onceUnpacked = (): Promise<string> => {
  unpacked ??= unpack()
  return unpacked
}

/**
 * Unpacks the package, some 210 MB, once for all runs: that takes seconds of processor time. The result stays beside
 * the package, and goes with its version. Returns its path.
 */
async function unpack(): Promise<string> {
  const folder = new URL('../', import.meta.resolve('@sparticuz/chromium')).pathname
  const ready = join(folder, 'unpacked')
  if (existsSync(ready)) return ready
  const unpacking = await mkdtemp(join(folder, 'unpacking-'))
  try {
    await Promise.all(inflateInto(unpacking, ['chromium.br', 'al2023.tar.br'], join(folder, 'bin')))
    // In one step, since another run may be doing the same. Whoever comes second uses the first one's result.
    await rename(unpacking, ready).catch((error: unknown) => {
      if (!existsSync(ready)) throw error
    })
    return ready
  } finally {
    await rm(unpacking, { recursive: true, force: true })
  }
}

/** The package unpacks into the folder for temporary files, which it looks up when it is called. */
function inflateInto(folder: string, files: readonly string[], from: string): readonly Promise<string>[] {
  vi.stubEnv('TMPDIR', folder)
  try {
    return files.map((file) => inflate(join(from, file)))
  } finally {
    vi.unstubAllEnvs()
  }
}
