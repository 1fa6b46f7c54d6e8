import { renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { startRedis } from '@leasehold/testkit/redis'
import { build } from 'esbuild'
import { beforeAll, test } from 'vitest'
import { startBridge } from '../../examples/local/src/bridge.ts'
import { startGateway } from '../../examples/local/src/gateway.ts'
import { startNodeProgram } from '../../examples/local/src/node-program.ts'
import { startWorker } from '../../examples/local/src/workerd.ts'
import { wranglerDev } from '../../examples/local/src/wrangler.ts'
import { startBridgeProgram } from '../../packages/bridge/test/program.ts'
import { leasehold } from '../bench/contestants/leasehold.ts'
import { startCrew } from '../bench/crew/crew.ts'
import { runProgram } from '../runtimes/running-program.ts'
import { descendantsOf } from './processes.ts'

const example = (path: string): URL => new URL(`../../examples/${path}`, import.meta.url)

/*
 * Starts everything that tests start, records all processes of its run, and cleans up nothing: `killed-run.test.ts`
 * then kills the run, or lets it fail.
 */
beforeAll(async () => {
  const redis = await startRedis()
  const bindings = { REDIS_URL: 'http://127.0.0.1:1', REDIS_TOKEN: 'token', PAYMENTS_URL: 'http://127.0.0.1:1' }
  await Promise.all([
    startGateway(redis.url),
    startBridge(redis.url),
    startBridgeProgram(redis.url),
    startWorker({ config: example('worker-idempotent/wrangler.jsonc'), bindings }),
    wranglerDev(example('worker-idempotent/'), bindings),
    startNodeProgram(example('node-server/src/main.ts'), { REDIS_URL: redis.url }),
    startCrew(1, leasehold, redis.port),
    // esbuild's service process stays.
    build({ stdin: { contents: '' }, write: false }),
  ])
  runProgram([process.execPath, '-e', 'setInterval(() => undefined, 1_000)'], tmpdir())
  const { LEFTOVERS_FILE = '', LEFTOVERS_ENDING } = process.env
  // So that whoever waits for the file finds it complete.
  writeFileSync(`${LEFTOVERS_FILE}.part`, JSON.stringify(descendantsOf(process.ppid)))
  renameSync(`${LEFTOVERS_FILE}.part`, LEFTOVERS_FILE)
  if (LEFTOVERS_ENDING === 'fails') throw new Error('on purpose')
  await new Promise(() => undefined)
})

test('is never come to', () => undefined)
