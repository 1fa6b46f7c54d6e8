#!/usr/bin/env node
import { commands } from '../commands.ts'
import { main } from '../main.ts'

process.exitCode = await main(commands, process.argv.slice(2), process)
