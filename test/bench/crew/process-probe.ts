/*
 * Loaded into a program before it starts, with `--import`: reports to its parent what the process uses, and changes
 * nothing else.
 */
import type { ProcessUse, UseRequest } from './bridge-process.ts'

process.on('message', ({ collect }: UseRequest) => {
  // `last-resort` shows what is really needed: V8 keeps up to 100 MB for new objects.
  if (collect) globalThis.gc?.({ execution: 'sync', type: 'major', flavor: collect })
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const use: ProcessUse = { rss, heap: heapUsed, cpuMs: (user + system) / 1_000 }
  process.send?.(use)
})
process.on('disconnect', () => process.exit())
