#!/usr/bin/env node
import { gatewaySettings, usage } from './gateway-settings.ts'
import { SettingsError } from './program-settings.ts'
import { startGateway } from './start-gateway.ts'

const log = (line: string): void => console.error(`leasehold-gateway: ${line}`)

try {
  const settings = gatewaySettings(process.argv.slice(2), process.env)
  if (settings) {
    const gateway = await startGateway(settings, log)
    console.log(`leasehold-gateway listens on ${gateway.url}`)
    let stopping = false
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      // Once: the same signal again finds no listener, and ends the process at once.
      process.once(signal, () => {
        if (!stopping) void gateway.stop()
        stopping = true
      })
    }
  } else {
    console.log(usage)
  }
} catch (error) {
  log((error as Error).message)
  if (error instanceof SettingsError) console.error('Try --help')
  process.exitCode = error instanceof SettingsError ? 2 : 1
}
