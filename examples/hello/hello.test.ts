import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, test } from 'vitest'

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')
const readme = read('README.md')
const [, printed = ''] = /^Both print .*\n\n```\n([\s\S]*?)^```$/m.exec(readme) ?? []

/** Runs the example and resolves to what it prints. */
async function hello(redisUrl: string): Promise<string> {
  const program = fileURLToPath(new URL('hello.ts', import.meta.url))
  const env = { ...process.env, REDIS_URL: redisUrl }
  return (await promisify(execFile)(process.execPath, [program], { env, timeout: 30_000 })).stdout
}

/** Fences differ from run to run. */
const settled = (output: string): string => output.replace(/fence \d+$/m, 'fence 1')

test('with the embedded store it prints what the README shows', async () => {
  expect(settled(await hello(''))).toBe(settled(printed))
})

test('on Redis it prints the same, and the lock was there', async () => {
  await using redis = await startRedis()
  expect(settled(await hello(redis.url))).toBe(settled(printed))
  // What remains is the record of the highest fence.
  expect(await redis.command('KEYS', '*')).toEqual([expect.stringContaining('order:17')])
})

test('each line that the README shows for a store is in the program', () => {
  const shown = Array.from(
    readme.matchAll(/^const locks = createLocker\((.*)\)$/gm),
    ([, options]) => options as string,
  )
  expect(shown).toHaveLength(2)
  const program = read('hello.ts')
  for (const options of shown) {
    // `...ioredisBackend(redis)` or `store, notifier: memoryNotifier(store)`: this is what differs.
    const differs = options.replace(/^\{ (?:\.\.\.)?|, name: 'hello' \}$/g, '')
    expect(program).toContain(differs)
  }
})
