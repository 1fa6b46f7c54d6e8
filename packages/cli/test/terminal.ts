import { setTimeout as sleep } from 'node:timers/promises'
import { type IPty, spawn } from '@lydell/node-pty'
import { Terminal } from '@xterm/headless'
import { environment, main } from './program.ts'

/** How long something may take to appear on the screen of a busy machine, in milliseconds. */
const mostMs = 30_000
const checkEveryMs = 20

/** The program on a terminal of its own, whose screen is read as a person would read it. */
export class ProgramOnTerminal implements AsyncDisposable {
  readonly #pty: IPty
  readonly #terminal: Terminal
  readonly #ended: Promise<number>
  #raw = ''

  constructor(args: readonly string[], columns: number, env: Readonly<Record<string, string>> = {}, rows = 24) {
    this.#terminal = new Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 1_000 })
    const { TERM: name = 'xterm-256color' } = env
    this.#pty = spawn(process.execPath, [main, ...args], { cols: columns, rows, name, env: environment(env) })
    this.#pty.onData((data) => {
      this.#raw += data
      this.#terminal.write(data)
    })
    this.#ended = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode }) => resolve(exitCode))
    })
  }

  /** Everything that was written, including escape sequences. */
  get raw(): string {
    return this.#raw
  }

  /** The lines on the screen, without the empty ones at the end. */
  screen(): readonly string[] {
    const { active } = this.#terminal.buffer
    const lines = Array.from(
      { length: active.length },
      (_, at) => active.getLine(at)?.translateToString(true, 0, this.#terminal.cols) ?? '',
    )
    while (lines.at(-1) === '') lines.pop()
    return lines
  }

  /** The number of lines that the terminal had to break. */
  broken(): number {
    const { active } = this.#terminal.buffer
    return Array.from({ length: active.length }, (_, at) => active.getLine(at)).filter((line) => line?.isWrapped).length
  }

  /** Waits until the screen shows this. */
  async shows(what: RegExp): Promise<void> {
    const giveUpAt = performance.now() + mostMs
    while (!what.test(this.screen().join('\n'))) {
      if (performance.now() > giveUpAt) throw new Error(`Not on the screen: ${what}\n${this.screen().join('\n')}`)
      await sleep(checkEveryMs)
    }
  }

  type(text: string): void {
    this.#pty.write(text)
  }

  resize(columns: number, rows = 24): void {
    this.#terminal.resize(columns, rows)
    this.#pty.resize(columns, rows)
  }

  /** Its exit code, once everything it wrote is on the screen. */
  async ended(): Promise<number> {
    const code = await this.#ended
    await new Promise<void>((resolve) => this.#terminal.write('', resolve))
    return code
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pty.kill('SIGKILL')
    await this.#ended
  }
}
