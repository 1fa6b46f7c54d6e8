#!/usr/bin/env node
import { gatewaySettings, usage } from './gateway-settings.ts'
import { runProgram } from './run-program.ts'
import { startGateway } from './start-gateway.ts'

const flags = { tokens: '--token' }

await runProgram({ name: 'leasehold-gateway', usage, flags, settings: gatewaySettings, start: startGateway })
