#!/usr/bin/env node
import { InvalidOptionError } from '@leasehold/core'
import { gatewayLog, logEverything } from './gateway-log.ts'
import { gatewaySettings, usage } from './gateway-settings.ts'
import { packageVersion } from './package-version.ts'
import { SettingsError } from './program-settings.ts'
import { startGateway } from './start-gateway.ts'

try {
  const settings = gatewaySettings(process.argv.slice(2), process.env)
  if (settings === 'help') console.log(usage)
  else if (settings === 'version') console.log(packageVersion())
  else {
    const log = gatewayLog(1)
    logEverything(log)
    const gateway = await startGateway(settings, log)
    log.info({ url: gateway.url }, 'ready')
    let stopping = false
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      // Once: the same signal again finds no listener, and ends the process at once.
      process.once(signal, () => {
        if (!stopping) {
          log.info({ signal }, 'stopping')
          void gateway.stop().then(() => log.info('stopped'))
        }
        stopping = true
      })
    }
  }
} catch (error) {
  refuse(error as Error)
}

/** It does not start. A person at a terminal is told in a sentence, and a log collector in a line of JSON. */
function refuse(error: Error): void {
  const ofSettings = error instanceof SettingsError || error instanceof InvalidOptionError
  if (!process.stderr.isTTY) gatewayLog(2).fatal({ ...(ofSettings && { hint: 'try --help' }) }, error.message)
  else process.stderr.write(`leasehold-gateway: ${error.message}\n${ofSettings ? 'Try --help\n' : ''}`)
  process.exitCode = ofSettings ? 2 : 1
}
