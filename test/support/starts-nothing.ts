/* Keeps unit tests pure: a test that starts a server or a process fails, and is told where it belongs. */
import { ChildProcess } from 'node:child_process'
import { Server } from 'node:net'

const refuse = (what: string) => (): never => {
  throw new Error(`A unit test starts no ${what}: give this file a line in test/suites.ts`)
}

Server.prototype.listen = refuse('server')
// `spawn`, `exec` and `fork` all end up here. The synchronous ones do not: `git ls-files` leaves nothing running.
Object.assign(ChildProcess.prototype, { spawn: refuse('process') })
