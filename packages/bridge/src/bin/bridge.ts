#!/usr/bin/env node
import { bridgeSettings, usage } from './bridge-settings.ts'
import { runProgram } from './run-program.ts'
import { startBridge } from './start-bridge.ts'

await runProgram({ name: 'leasehold-bridge', usage, settings: bridgeSettings, start: startBridge })
