/* Loaded before a program with `--expose-gc`: collects all garbage whenever a test says so. */
process.on('SIGUSR2', () => gc?.())
