#!/usr/bin/env node
import { gatewaySettings, usage } from './gateway-settings.ts'
import { runProgram } from './run-program.ts'
import { startGateway } from './start-gateway.ts'

await runProgram({ name: 'leasehold-gateway', usage, settings: gatewaySettings, start: startGateway })
