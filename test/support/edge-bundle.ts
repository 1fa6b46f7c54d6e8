import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

interface EdgeBundle {
  /** The folder whose imports `contents` can make. */
  readonly folder: string
  readonly format?: 'esm' | 'iife'
  readonly conditions?: readonly string[]
  readonly external?: readonly string[]
}

/** What an edge project would deploy of these exports, minified, and nothing shimmed. As a script it is `leasehold`. */
export async function edgeBundle(
  contents: string,
  { folder, format = 'esm', conditions = ['workerd'], external = [] }: EdgeBundle,
): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: folder, loader: 'ts' },
    bundle: true,
    write: false,
    minify: true,
    platform: 'browser',
    target: 'es2022',
    format,
    globalName: 'leasehold',
    conditions: [...conditions],
    external: [...external],
  })
  return outputFiles[0]?.text ?? ''
}

/** Compressed as for the way to a user, in bytes. */
export const compressedBytes = (code: string): number => gzipSync(code, { level: 9 }).byteLength
