// Exits with 0 if the program with this environment is ready. Prints what /readyz says. It is for health checks in
// images that have no other HTTP client.
const { LEASEHOLD_BRIDGE_PORT, LEASEHOLD_GATEWAY_PORT } = process.env
const url = `http://127.0.0.1:${LEASEHOLD_BRIDGE_PORT ?? LEASEHOLD_GATEWAY_PORT}/readyz`
try {
  const answer = await fetch(url, { signal: AbortSignal.timeout(4_000) })
  process.stdout.write(`${answer.status} ${await answer.text()}\n`)
  process.exitCode = answer.ok ? 0 : 1
} catch (error) {
  process.stdout.write(`${url} does not answer: ${error.cause?.message ?? error.message}\n`)
  process.exitCode = 1
}
