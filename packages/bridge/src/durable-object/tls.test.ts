import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type Server } from 'node:tls'
import { promisify } from 'node:util'
import { startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

let folder: string
let certificates: 'made' | 'none' = 'none'
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leasehold-tls-'))
  const made = ['trusted', 'unknown'].map((name) =>
    promisify(execFile)('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${name}`],
      ...['-addext', 'subjectAltName=DNS:localhost', '-keyout', join(folder, `${name}.key`)],
      ...['-out', join(folder, `${name}.pem`)],
    ]),
  )
  certificates = await Promise.all(made).then(
    () => 'made',
    () => 'none',
  )
})
afterAll(() => rm(folder, { recursive: true }))

/** Listens with TLS, and passes on to Redis what comes in. */
async function tlsBefore(redisPort: number, name: string): Promise<Server> {
  const [key, cert] = await Promise.all(['key', 'pem'].map((kind) => readFile(join(folder, `${name}.${kind}`))))
  const server = createServer({ key, cert }, (socket) => {
    const plain = connect(redisPort, '127.0.0.1')
    for (const each of [socket, plain]) each.on('error', () => undefined)
    socket.pipe(plain).pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

test('rediss:// reaches a Redis whose certificate is trusted, and no other', async (context) => {
  if (certificates === 'none') return context.skip('This system has no openssl to make certificates with')
  // The runtime is told whom to trust by this variable, which is read when its module is loaded.
  vi.stubEnv('NODE_EXTRA_CA_CERTS', join(folder, 'trusted.pem'))
  const { startTestWorker } = await import('../../test-durable-object.ts')
  vi.unstubAllEnvs()
  await using redis = await startRedis()
  for (const [name, status] of [
    ['trusted', 200],
    ['unknown', 503],
  ] as const) {
    const server = await tlsBefore(redis.port, name)
    context.onTestFinished(() => void server.close())
    await using worker = await startTestWorker({
      redisUrl: `rediss://localhost:${(server.address() as AddressInfo).port}`,
    })
    expect([name, (await worker.get('/readyz')).status]).toEqual([name, status])
  }
})
