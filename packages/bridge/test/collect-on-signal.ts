/* Loaded before a program with `--expose-gc`: collects all garbage when a test asks, and reports the heap size. */
process.on('SIGUSR2', () => {
  gc?.()
  process.stderr.write(`collected: ${process.memoryUsage().heapUsed}\n`)
})
