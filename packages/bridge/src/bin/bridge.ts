#!/usr/bin/env node
import { bridgeSettings, usage } from './bridge-settings.ts'
import { JoinedLog } from './joined-log.ts'
import { programLog, takeOver } from './program-log.ts'
import { SettingsError, versionIn } from './program-settings.ts'
import { startBridge } from './start-bridge.ts'

const name = 'leasehold-bridge'

try {
  const settings = bridgeSettings(process.argv.slice(2), process.env)
  if (settings === 'help') console.log(usage)
  else if (settings === 'version') console.log(versionIn(new URL('../../package.json', import.meta.url)))
  else await run(settings)
} catch (error) {
  tellWhyNot(error as Error)
  process.exitCode = error instanceof SettingsError ? 2 : 1
}

async function run(settings: Parameters<typeof startBridge>[0]): Promise<void> {
  const log = programLog(name, 1)
  const joined = new JoinedLog()
  takeOver(log, joined)
  const bridge = await startBridge(settings, log, joined)
  const { url, metricsUrl } = bridge
  log.info({ url, ...(metricsUrl !== undefined && { metricsUrl }), prefix: settings.prefix }, 'ready')
  let stopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // Once: the same signal again finds no listener, and ends the process at once.
    process.once(signal, () => {
      if (!stopping) {
        log.info({ signal }, 'stopping')
        void bridge.stop().then(() => log.info('stopped'))
      }
      stopping = true
    })
  }
}

/** To a person at a terminal in plain words, and else as a line that whoever collects logs can read. */
function tellWhyNot({ name: kind, message }: Error): void {
  const hint = kind === 'SettingsError' ? 'Try --help' : undefined
  if (process.stderr.isTTY) process.stderr.write(`${name}: ${message}\n${hint === undefined ? '' : `${hint}\n`}`)
  else programLog(name, 2).fatal({ reason: message, ...(hint !== undefined && { hint }) }, 'not started')
}
