import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/*
 * Whatever a test run starts ends with it, and what it puts into the folder for temporary files is removed, however the
 * run ends.
 *
 * All processes of a run have its mark in their environment: a child passes it on to its own children, also where a
 * library starts them. A shell waits beside the run, at the reading end of a pipe whose other end belongs to the run.
 * The system closes that end when the run dies, and the shell then kills every process with the mark, wherever it is in
 * the process tree.
 *
 * So code that starts a process with an environment of its own passes on `LEASEHOLD_TEST_RUN`; `test/architecture`
 * checks this.
 */

/** The first argument is the mark, the second the run's folder. */
const watch = `
  read -r line
  quiet=0
  for round in $(seq 100); do
    marked=$(grep -lsF "$1" /proc/[0-9]*/environ | cut -d / -f 3)
    if [ -n "$marked" ]; then kill -9 $marked 2>/dev/null; quiet=0; else quiet=$((quiet + 1)); fi
    # One that was killed may just have started another.
    [ $quiet -ge 3 ] && break
    sleep 0.1
  done
  # The shells beside Redis servers remove theirs, too.
  rm -rf "$2" || { sleep 1; rm -rf "$2"; }
`

/** Called once, by the process that starts all others. */
export function endWithRun(): void {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-run-'))
  const run = randomUUID()
  const shell = spawn('sh', ['-c', watch, 'sh', `LEASEHOLD_TEST_RUN=${run}`, folder], {
    // Without the mark.
    env: { PATH: process.env['PATH'] },
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a process group of its own, so that a signal to all of ours does not end it before its work is done.
    detached: true,
  })
  shell.on('error', (error) => console.error('Nothing will end what this run leaves behind:', error))
  shell.stdin.on('error', () => undefined)
  shell.unref()
  ;(shell.stdin as unknown as { unref(): void }).unref()
  process.env['LEASEHOLD_TEST_RUN'] = run
  process.env['TMPDIR'] = folder
}
