import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, test } from 'vitest'
import { startTestWorker, workerFile } from '../../test/durable-object.ts'

const wrangler = fileURLToPath(new URL('../../node_modules/.bin/wrangler', import.meta.url))

/** The largest allowed upload of the Worker, in KiB: about half of it is ioredis. The free plan has room for 3,072. */
const limitKiB = 116

/** The code that the README tells a user to write. */
const config = {
  name: 'bridge',
  main: workerFile,
  compatibility_date: '2026-11-02',
  compatibility_flags: ['nodejs_compat', 'enable_request_signal'],
  // Without it, comments name the path of each file, so the size depends on where the checkout is.
  minify: true,
  durable_objects: { bindings: [{ name: 'BRIDGE', class_name: 'Bridge' }] },
  migrations: [{ tag: 'v1', new_sqlite_classes: ['Bridge'] }],
}

test(`wrangler bundles it as it is, to at most ${limitKiB} KiB, and the bundle runs`, {
  timeout: 120_000,
}, async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-deploy-'))
  context.onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'wrangler.json'), JSON.stringify(config))
  const { stdout } = await promisify(execFile)(wrangler, ['deploy', '--dry-run', '--outdir', 'out'], {
    cwd: folder,
    env: {
      // The same Node as ours, and no telemetry.
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      LEASEHOLD_TEST_RUN: process.env['LEASEHOLD_TEST_RUN'],
      HOME: folder,
      WRANGLER_SEND_METRICS: 'false',
      CLOUDFLARE_CF_FETCH_ENABLED: 'false',
      CI: '1',
    },
  })
  const [total, gzip = ''] = /Total Upload: .* \/ gzip: ([\d.]+) KiB/.exec(stdout) ?? [stdout]
  console.log(`the Worker with the bridge, and a locker: ${total}`)
  expect(Number(gzip)).toBeGreaterThan(0)
  expect(Number(gzip)).toBeLessThanOrEqual(limitKiB)

  const script = await readFile(join(folder, 'out/durable-object-worker.js'), 'utf8')
  await using redis = await startRedis()
  await using worker = await startTestWorker({ script, redisUrl: redis.url })
  expect((await worker.get('/readyz')).status).toBe(200)
  expect(await (await worker.wait('free', '-')).json()).toEqual({ changed: true })
  expect(worker.complaints).toEqual([])
})
