/* Loaded before a program with `--expose-gc`: collects all garbage whenever a test says so, and says what is left. */
process.on('SIGUSR2', () => {
  gc?.()
  process.stderr.write(`collected: ${process.memoryUsage().heapUsed}\n`)
})
