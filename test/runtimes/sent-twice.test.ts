import { startHttpProxy } from '@leasehold/testkit'
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { type Installation, installPackages } from './installed-packages.ts'
import { runProgram } from './running-program.ts'
import { type Runtime, runtimes } from './runtimes.ts'

/*
 * T-79: each request over a kept-alive connection is carried out, and the connection is lost before the reply. Deno's
 * own `fetch` then sends it again, and its caller gets the second answer; the others report a failure.
 */

let packages: Installation
let story: string
beforeAll(async () => {
  packages = await installPackages('core', 'upstash')
  story = await packages.program('sent-twice-story')
})
afterAll(() => packages?.[Symbol.asyncDispose]())

const repeats = ({ name }: Runtime): boolean => name === 'Deno 2'

async function run(context: TestContext, { name, binary, flags }: Runtime, gateway: TestGateway) {
  if (!binary) return context.skip(`There is no ${name} for ${process.platform} on ${process.arch}`)
  await using proxy = await startHttpProxy({ target: gateway.url })
  proxy.cutKeptAlive()
  const program = runProgram([binary, ...flags, story, proxy.url, gateway.url, token], packages.folder)
  context.onTestFinished(program.kill)
  const { code, lines, err } = await program.ended
  expect([code, err]).toEqual([0, ''])
  return { said: JSON.parse(lines.at(-1) ?? ''), arrived: proxy.requests['/'] ?? 0 }
}

describe.each(runtimes)('T-79: on $name, over connections that are lost before the reply,', (runtime) => {
  test('every call is told what it did, whoever sends it again', async (context) => {
    await using gateway = await startTestGateway()
    const { said, arrived } = await run(context, runtime, gateway)
    console.log(`${runtime.name} made ${said.own} requests, ${arrived} arrived`)
    expect(said).toEqual({
      runtime: runtime.name,
      worked: [true, true, true],
      outcomes: ['released', 'released', 'released', 'expired', 'expired'],
      freed: true,
      losses: [
        ['gone', 'done'],
        ['gone', 'done'],
      ],
      // A revocation is sent once: without an answer its outcome is unknown.
      revoking: expect.toSatisfy((answer) => answer === true || (answer === 'STORE_UNAVAILABLE' && !repeats(runtime))),
      told: repeats(runtime) ? 'expired' : expect.any(String),
      own: expect.any(Number),
    })
    // Otherwise this shows nothing: the runtime has sent most of them twice by itself.
    if (repeats(runtime)) expect(arrived).toBeGreaterThan(1.5 * said.own)
  })
})
