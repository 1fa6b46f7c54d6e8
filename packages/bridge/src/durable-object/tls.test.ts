import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type Server } from 'node:tls'
import { startRedis } from '@leasehold/testkit/redis'
import { generate } from 'selfsigned'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

let folder: string
let certificates: Record<'trusted' | 'unknown', { readonly private: string; readonly cert: string }>
beforeAll(async () => {
  certificates = { trusted: await certificateOf('trusted'), unknown: await certificateOf('unknown') }
  folder = await mkdtemp(join(tmpdir(), 'leasehold-tls-'))
  await writeFile(join(folder, 'trusted.pem'), certificates.trusted.cert)
})
afterAll(() => rm(folder, { recursive: true }))

/** A self-signed certificate. */
const certificateOf = (name: string) =>
  generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  })

/** Listens with TLS, and forwards everything to Redis. */
async function tlsBefore(redisPort: number, name: keyof typeof certificates): Promise<Server> {
  const { private: key, cert } = certificates[name]
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
  // This variable tells the runtime whom to trust. It is read when the runtime's module is loaded.
  vi.stubEnv('NODE_EXTRA_CA_CERTS', join(folder, 'trusted.pem'))
  const { startTestWorker } = await import('../../test/durable-object.ts')
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
