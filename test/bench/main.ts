/*
 * Compares Leasehold with other lock libraries and with what the server itself allows: `npm run bench -- --list`.
 *
 * Figures of two machines say nothing about each other, and absolute times of a shared machine say little. The ratios of
 * one run do: all contestants have had the same machine, in turn.
 */
import { writeFile } from 'node:fs/promises'
import { connectRedisAdmin, startRedis } from '@leasehold/testkit/redis'
import { describeMachine } from './measure/machine.ts'
import { readOptions, usage } from './options.ts'
import { tables } from './report/table.ts'
import { type Measured, play } from './rounds.ts'
import { scenarioNamed, scenarios } from './scenarios/index.ts'

const options = readOptions(process.argv.slice(2))
if (options.list || options.scenarios.length === 0) {
  console.log(`${usage}\n`)
  for (const { name, about, contestants } of scenarios) {
    console.log(`${name}: ${about}\n  ${contestants.map((each) => each.name).join(', ')}`)
  }
} else {
  await bench()
}

async function bench(): Promise<void> {
  const chosen = options.scenarios.map(scenarioNamed)
  await using server = await startRedis()
  await using admin = await connectRedisAdmin({ port: server.port, deadlineMs: 60_000 })
  const version = /^redis_version:(.*)$/m.exec(String(await admin.command('INFO', 'server')))?.[1]?.trim()
  console.log(`Redis ${version}, ${describeMachine()}`)

  const measured: Measured[] = []
  for (const scenario of chosen) {
    console.log(`\n${scenario.name}: ${scenario.about}`)
    await play(scenario, options, { server, admin }, (samples) => {
      console.log(tables(scenario.columns, samples))
      measured.push(...samples)
    })
  }
  console.log(`\n${describeMachine()}`)
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(measured, null, 1)}\n`)
}
