import { basename } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

interface EdgeBundle {
  /** The folder from which the imports in `contents` are resolved. */
  readonly folder: string
  readonly format?: 'esm' | 'iife'
  readonly conditions?: readonly string[]
  readonly external?: readonly string[]
}

/**
 * What an edge project would deploy of these exports, minified, with nothing shimmed. As a script it is `leasehold`.
 */
export const edgeBundle = async (contents: string, options: EdgeBundle): Promise<string> =>
  (await itemisedBundle(contents, options)).code

/** The same, with each file's share of it in bytes before compression, largest first. */
export async function itemisedBundle(
  contents: string,
  { folder, format = 'esm', conditions = ['workerd'], external = [] }: EdgeBundle,
): Promise<{ readonly code: string; readonly items: readonly (readonly [file: string, bytes: number])[] }> {
  const { outputFiles, metafile } = await build({
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
    metafile: true,
  })
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs))
  const items = inputs.map(([file, { bytesInOutput }]) => [basename(file, '.ts'), bytesInOutput] as const)
  return { code: outputFiles[0]?.text ?? '', items: items.sort(([, a], [, b]) => b - a) }
}

/** Size in bytes when compressed as for delivery to a user. */
export const compressedBytes = (code: string): number => gzipSync(code, { level: 9 }).byteLength
