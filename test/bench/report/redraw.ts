import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { charts } from './charts.ts'
import { drawSvg } from './draw-svg.ts'
import { filledPage } from './page.ts'
import type { Recording } from './recording.ts'
import { themes } from './theme.ts'

/** Draws every chart of a recording beside its file, and fills in the tables of the page above that folder. */
export async function redraw(file: string): Promise<void> {
  const recording: Recording = JSON.parse(await readFile(file, 'utf8'))
  for (const [name, svg] of await drawn(recording)) await writeFile(join(dirname(file), name), svg)
  const page = join(dirname(file), '..', 'performance.md')
  if (existsSync(page)) await writeFile(page, filledPage(await readFile(page, 'utf8'), recording))
}

/** The charts by file name: each for a light page and for a dark one. */
export async function drawn(recording: Recording): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  for (const [name, spec] of charts(recording)) {
    for (const theme of themes) files.set(`${name}.${theme.name}.svg`, await drawSvg(spec, theme))
  }
  return files
}
