#!/usr/bin/env node
import { commands } from '../commands.ts'
import { exitCode } from '../exit-code.ts'
import { main } from '../main.ts'

// The reader of the output has gone, as `head` does when it has seen enough.
process.stdout.on('error', () => process.exit(exitCode.interrupted))

// A client may throw where nobody awaits it. Its message may quote what it sends, so only the error's name is printed.
// The exit code is not 1, which scripts read as an answer.
process.on('uncaughtException', ({ name }) => {
  const message = `the program has a fault: ${name}`
  const asJson = process.argv.includes('--json')
  process.stderr.write(
    asJson ? `${JSON.stringify({ error: { code: 'UNEXPECTED', message } })}\n` : `leasehold: ${message}\n`,
  )
  process.exit(exitCode.unavailable)
})

process.exitCode = await main(commands, process.argv.slice(2), process)
