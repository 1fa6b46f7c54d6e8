import { createInterface } from 'node:readline'
import pico from 'picocolors'
import { Interrupted } from '../interrupted.ts'

export type Colors = ReturnType<typeof pico.createColors>

/** Where a command writes, and where it asks. */
export interface Terminal {
  /** Whether stdout is a terminal, on which a table may be redrawn. */
  readonly isTerminal: boolean
  /** The width; undefined if stdout is not a terminal, and nothing has to fit. */
  readonly columns: number | undefined
  readonly rows: number | undefined
  /** Adds colors to text; leaves it unchanged where colors may not be used. */
  readonly colors: Colors
  /** Whether somebody can be asked. */
  readonly canAsk: boolean
  write(text: string): void
  /** Writes to stderr: warnings and errors, not the answer. */
  tell(text: string): void
  /** Resolves to the typed line; empty if there is none. @throws the signal's reason, or Interrupted after Ctrl-C */
  ask(question: string, signal: AbortSignal): Promise<string>
  onResize(listener: () => void): () => void
}

/** The parts of a process that are used. */
export interface TerminalProcess {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * @param color false for no colors on any terminal. Otherwise colors need stdout to be a terminal, and neither
 *   `NO_COLOR` (no-color.org) nor `TERM=dumb` to be set; `FORCE_COLOR` turns them on elsewhere, too.
 */
export function processTerminal({ stdin, stdout, stderr, env }: TerminalProcess, color: boolean): Terminal {
  const isTerminal = stdout.isTTY === true
  const wanted = env['FORCE_COLOR'] ? true : isTerminal && env['TERM'] !== 'dumb'
  return {
    isTerminal: isTerminal && env['TERM'] !== 'dumb',
    get columns() {
      return isTerminal ? stdout.columns : undefined
    },
    get rows() {
      return isTerminal ? stdout.rows : undefined
    },
    colors: pico.createColors(color && wanted && !env['NO_COLOR']),
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    write: (text) => void stdout.write(text),
    tell: (text) => void stderr.write(text),
    ask(question, signal) {
      // On stderr, so that stdout has only the answer.
      const reader = createInterface({ input: stdin, output: stderr })
      return new Promise<string>((resolve, reject) => {
        // On a terminal the reader handles Ctrl-C itself. Ctrl-D closes it, and is no answer.
        reader.once('SIGINT', () => {
          stderr.write('\n')
          reject(new Interrupted())
        })
        reader.once('close', () => resolve(''))
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        reader.question(question, resolve)
      }).finally(() => reader.close())
    },
    onResize(listener) {
      stdout.on('resize', listener)
      return () => void stdout.off('resize', listener)
    },
  }
}
