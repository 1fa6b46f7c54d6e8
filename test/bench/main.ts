/*
 * Compares Leasehold with other lock libraries and with what the server itself allows: `npm run bench -- --list`.
 *
 * Figures from two machines cannot be compared, and absolute times on a shared machine say little. The ratios of one
 * run are meaningful: all contestants had the same machine, in turn.
 */
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { connectRedisAdmin, startRedis } from '@leasehold/testkit/redis'
import { runWorkersOn } from './crew/worker-program.ts'
import { describeMachine } from './measure/machine.ts'
import { readOptions, usage } from './options.ts'
import { gateLines, verdicts } from './report/gates.ts'
import { type RecordedScenario, type Recording, recorded, recordedAs, recordingText } from './report/recording.ts'
import { tables } from './report/table.ts'
import { type Measured, play } from './rounds.ts'
import { scenarioNamed, scenarios } from './scenarios/index.ts'

const options = readOptions(process.argv.slice(2))
if (options.draw !== undefined) {
  // Imported here, because nothing else needs the drawing library.
  const { redraw } = await import('./report/redraw.ts')
  await redraw(options.draw)
} else if (options.list || options.scenarios.length === 0) {
  console.log(`${usage}\n`)
  for (const { name, about, contestants } of scenarios) {
    console.log(`${name}: ${about}\n  ${contestants.map((each) => each.name).join(', ')}`)
  }
} else {
  await bench()
}

async function bench(): Promise<void> {
  const chosen = options.scenarios.map(scenarioNamed)
  if (options.node !== undefined) await runWorkersOn(options.node)
  await using server = await startRedis()
  await using admin = await connectRedisAdmin({ port: server.port, deadlineMs: 60_000 })
  const version = /^redis_version:(.*)$/m.exec(String(await admin.command('INFO', 'server')))?.[1]?.trim()
  console.log(`Redis ${version}, ${describeMachine()}`)
  const machine = `Redis ${version}, Node ${options.node ?? process.versions.node}, ${availableParallelism()} processors`

  const all: Measured[] = []
  const recording: Record<string, RecordedScenario> = {}
  for (const scenario of chosen) {
    console.log(`\n${scenario.name}: ${scenario.about}`)
    const measured: Measured[] = []
    await play(scenario, options, { server, admin }, (samples) => {
      console.log(tables(scenario.columns, samples))
      measured.push(...samples)
    })
    all.push(...measured)
    recording[recordedAs(scenario.name, options.node)] = recorded(machine, measured)
  }
  console.log(`\n${describeMachine()}\n`)
  for (const line of gateLines(all)) console.log(line)
  if (verdicts(all).some(({ isGated, isHeld }) => isGated && !isHeld)) process.exitCode = 1
  if (options.json !== undefined) await record(options.json, recording)
}

/** Writes the scenarios of this run over those that the file has from an earlier one. */
async function record(file: string, recording: Recording): Promise<void> {
  const before: Recording = existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : {}
  await writeFile(file, recordingText({ ...before, ...recording }))
}
