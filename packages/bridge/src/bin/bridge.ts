#!/usr/bin/env node
import { bridgeSettings, usage } from './bridge-settings.ts'
import { runProgram } from './run-program.ts'
import { startBridge } from './start-bridge.ts'

const flags = {
  prefix: '--prefix',
  'auth.tokens': '--token',
  'auth.ticketSecrets': '--ticket-secret',
  'auth.longestTicket': '--longest-ticket',
  'cors.origins': '--cors',
  'metrics.token': '--metrics-token',
}

await runProgram({ name: 'leasehold-bridge', usage, flags, settings: bridgeSettings, start: startBridge })
