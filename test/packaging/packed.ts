import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What the packages are built from: their own files, and those that they share. */
const sources = ['packages', 'LICENSE', 'package.json', 'pnpm-lock.yaml', 'tsconfig.base.json', 'tsdown.base.ts']

/** A fingerprint of the names and contents of these files, whether or not they are committed. */
function fingerprint(): string {
  const hash = createHash('sha256')
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...sources]
  const paths = execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 16_777_216 })
  for (const path of new Set(paths.split('\0').filter(Boolean).toSorted())) {
    const file = join(root, path)
    if (existsSync(file)) hash.update(`${path}\0`).update(createHash('sha256').update(readFileSync(file)).digest())
  }
  return hash.digest('hex')
}

const kept = join(root, 'node_modules/.cache/leasehold-packed')

/** The folder with the packages packed from the files as they are now, if there is one. */
export function keptFolder(): string | undefined {
  const folder = join(kept, fingerprint())
  return existsSync(folder) ? folder : undefined
}

/**
 * Keeps what `pack` puts into a folder until a file changes: building and packing all takes ten seconds of processor
 * time.
 */
export async function packedOnce(pack: (into: string) => Promise<void>): Promise<string> {
  const folder = join(kept, fingerprint())
  if (existsSync(folder)) return folder
  rmSync(kept, { recursive: true, force: true })
  mkdirSync(kept, { recursive: true })
  const making = mkdtempSync(join(kept, 'making-'))
  await pack(making)
  // The rename is atomic: whoever finds the folder finds all of it.
  renameSync(making, folder)
  return folder
}
