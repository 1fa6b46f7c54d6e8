import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { inflate } from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { vi } from 'vitest'

/** Chromium as one file and the libraries that it needs, for the processors that there is a package for. */
const packaged = process.platform === 'linux' && process.arch === 'x64'
const ofTheSystem = '/usr/bin/chromium'

/** Why there is none here; undefined if there is. */
export const noChromium: string | undefined =
  packaged || existsSync(ofTheSystem) ? undefined : 'the package has Chromium for Linux on x64 only'

/** Starts Chromium, which keeps what it writes in this folder. It is not told to be lax: a page may ask what any page may. */
export async function startChromium(folder: string): Promise<Browser> {
  const executablePath = packaged ? await unpacked(folder) : ofTheSystem
  return chromium.launch({
    executablePath,
    // As root, where there is no sandbox; and it asks nobody outside.
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    env: {
      PATH: process.env['PATH'] ?? '',
      LEASEHOLD_TEST_RUN: process.env['LEASEHOLD_TEST_RUN'] ?? '',
      HOME: folder,
      TMPDIR: folder,
      LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
    },
  })
}

/** Unpacks the package, some 210 MB; answers where the program is. */
async function unpacked(folder: string): Promise<string> {
  const packed = new URL('../bin/', import.meta.resolve('@sparticuz/chromium')).pathname
  // The package unpacks into the folder for temporary files, where another run may be at it.
  vi.stubEnv('TMPDIR', folder)
  try {
    const [program] = await Promise.all([inflate(join(packed, 'chromium.br')), inflate(join(packed, 'al2023.tar.br'))])
    return program
  } finally {
    vi.unstubAllEnvs()
  }
}
