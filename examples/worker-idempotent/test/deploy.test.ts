import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const folder = fileURLToPath(new URL('..', import.meta.url))

/** What the whole Worker may weigh as it is sent to Cloudflare, in KiB; the free plan has room for 3,072. */
const limitKiB = 18.5

test(`it can be deployed, and weighs at most ${limitKiB} KiB`, { timeout: 60_000 }, async () => {
  const outdir = await mkdtemp(join(tmpdir(), 'leasehold-deploy-'))
  const { stdout } = await promisify(execFile)(
    join(folder, 'node_modules/.bin/wrangler'),
    ['deploy', '--dry-run', '--outdir', outdir],
    {
      cwd: folder,
      env: {
        // The same Node as ours, and nobody is told.
        PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
        LEASEHOLD_TEST_RUN: process.env['LEASEHOLD_TEST_RUN'],
        HOME: outdir,
        WRANGLER_SEND_METRICS: 'false',
        CLOUDFLARE_CF_FETCH_ENABLED: 'false',
        CI: '1',
      },
    },
  ).finally(() => rm(outdir, { recursive: true }))
  const [total, gzip = ''] = /Total Upload: .* \/ gzip: ([\d.]+) KiB/.exec(stdout) ?? [stdout]
  console.log(`worker-idempotent: ${total}`)
  expect(Number(gzip)).toBeGreaterThan(0)
  expect(Number(gzip)).toBeLessThanOrEqual(limitKiB)
})
