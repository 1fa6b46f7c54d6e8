import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { curlsOf, run } from '@leasehold/example-local/curl'
import { startGateway } from '@leasehold/example-local/gateway'
import { wranglerDev } from '@leasehold/example-local/wrangler'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, test } from 'vitest'

/* What the README of `@leasehold/idempotency` has a new user do, once the packages are installed. */

const readme = new URL('../../../packages/idempotency/README.md', import.meta.url)
const text = readFileSync(readme, 'utf8')
const installed = fileURLToPath(new URL('../node_modules', import.meta.url))

/** The block of the README that says which file it is. */
function blockOf(file: string): string {
  const [, code] = new RegExp(`\\n\`\`\`\\w+\\n(// ${file}\\n[^]*?)\\n\`\`\``).exec(text) ?? []
  if (code === undefined) throw new Error(`The README does not show ${file}`)
  return code
}

test('the first steps in a Worker lead to a payment, and to its replay', async () => {
  await using redis = await startRedis()
  await using gateway = await startGateway(redis.url)
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-first-steps-'))
  try {
    symlinkSync(installed, join(folder, 'node_modules'))
    for (const file of ['wrangler.jsonc', 'src/index.ts']) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), blockOf(file))
    }
    const [secrets = ''] = /^printf .*LEASEHOLD_GATEWAY_TOKENS.*$/m.exec(text) ?? []
    execFileSync('sh', ['-c', secrets], {
      cwd: folder,
      env: { ...process.env, LEASEHOLD_GATEWAY_TOKENS: gateway.token },
    })
    await using worker = await wranglerDev(pathToFileURL(`${folder}/`), { REDIS_URL: gateway.url })
    const [curl] = curlsOf(readme)
    if (!curl) throw new Error('The README shows no request')
    expect(await run([curl, curl], { '8787': worker.url })).toEqual([curl.answer, curl.answer])
    const replay = await fetch(worker.url + curl.path, curl.init)
    expect(replay.headers.get('idempotency-replayed')).toBe('true')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
