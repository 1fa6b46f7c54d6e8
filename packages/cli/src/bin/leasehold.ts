#!/usr/bin/env node
import { commands } from '../commands.ts'
import { exitCode } from '../exit-code.ts'
import { main } from '../main.ts'

// Whoever reads its output has gone, as `head` does when it has seen enough.
process.stdout.on('error', () => process.exit(exitCode.interrupted))

process.exitCode = await main(commands, process.argv.slice(2), process)
