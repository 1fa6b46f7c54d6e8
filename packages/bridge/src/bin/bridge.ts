#!/usr/bin/env node
import { pino } from 'pino'
import { bridgeSettings, usage } from './bridge-settings.ts'
import { SettingsError } from './program-settings.ts'
import { startBridge } from './start-bridge.ts'

try {
  const settings = bridgeSettings(process.argv.slice(2), process.env)
  if (settings) {
    const log = pino({ name: 'leasehold-bridge' }, pino.destination({ dest: 1, sync: true }))
    const bridge = await startBridge(settings, log)
    log.info({ url: bridge.url, prefix: settings.prefix }, 'ready')
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
  } else {
    console.log(usage)
  }
} catch (error) {
  // Before there is a log there is a person at a terminal.
  console.error(`leasehold-bridge: ${(error as Error).message}`)
  if (error instanceof SettingsError) console.error('Try --help')
  process.exitCode = error instanceof SettingsError ? 2 : 1
}
