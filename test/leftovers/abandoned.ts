import { renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { startRedis } from '@leasehold/testkit/redis'
import { build } from 'esbuild'
import { beforeAll, test } from 'vitest'
import { startServerProcess } from '../../examples/node-server/src/server-process.ts'
import { startBridge } from '../../examples/worker-idempotent/test/bridge.ts'
import { startGateway } from '../../examples/worker-idempotent/test/gateway.ts'
import { startWorker } from '../../examples/worker-idempotent/test/workerd.ts'
import { wranglerDev } from '../../examples/worker-idempotent/test/wrangler-dev.ts'
import { startBridgeProgram } from '../../packages/bridge/test/program.ts'
import { leasehold } from '../bench/contestants/leasehold.ts'
import { startCrew } from '../bench/crew/crew.ts'
import { runProgram } from '../runtimes/running-program.ts'
import { descendantsOf } from './processes.ts'

/*
 * Starts whatever tests start, writes down all processes of its run, and cleans nothing up: `killed-run.test.ts` then kills
 * the run, or lets it fail.
 */
beforeAll(async () => {
  const redis = await startRedis()
  const bindings = { REDIS_URL: 'http://127.0.0.1:1', REDIS_TOKEN: 'token', PAYMENTS_URL: 'http://127.0.0.1:1' }
  await Promise.all([
    startGateway(redis.url),
    startBridge(redis.url),
    startBridgeProgram(redis.url),
    startWorker(bindings),
    wranglerDev(bindings),
    startServerProcess({ REDIS_URL: redis.url }),
    startCrew(1, leasehold, redis.port),
    // Its service stays.
    build({ stdin: { contents: '' }, write: false }),
  ])
  runProgram([process.execPath, '-e', 'setInterval(() => undefined, 1_000)'], tmpdir())
  const { LEFTOVERS_FILE = '', LEFTOVERS_ENDING } = process.env
  // Whoever waits for the file finds all of it.
  writeFileSync(`${LEFTOVERS_FILE}.part`, JSON.stringify(descendantsOf(process.ppid)))
  renameSync(`${LEFTOVERS_FILE}.part`, LEFTOVERS_FILE)
  if (LEFTOVERS_ENDING === 'fails') throw new Error('on purpose')
  await new Promise(() => undefined)
})

test('is never come to', () => undefined)
