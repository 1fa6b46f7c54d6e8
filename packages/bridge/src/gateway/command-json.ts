import type { GatewayCommand } from './gateway-redis.ts'

/** The body or the path breaks the protocol. The message is for the client. */
export class BadRequestError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BadRequestError'
  }
}

const space = /[ \t\n\r]*/y
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const boolean = /true|false/y

/**
 * Reads the JSON of commands: arrays of strings, numbers and booleans, and nothing else.
 *
 * `JSON.parse` silently rounds numbers that a double cannot hold, and drops the zero of `1.0`. Only some runtimes
 * expose a number's source text. Here a number keeps the characters it was written with, as every Redis client sends
 * it. Text that nests deeper than commands do is refused where the nesting begins.
 */
export class CommandReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Reads the text as one command. @throws BadRequestError */
  command(): GatewayCommand {
    const command = this.#command()
    this.#end()
    return command
  }

  /** Reads the text as an array of one to `most` commands. @throws BadRequestError */
  commands(most: number): readonly GatewayCommand[] {
    const commands: GatewayCommand[] = []
    if (this.#next() !== '[') throw this.#unlike('the body must be an array of commands')
    for (const _ of this.#elements()) {
      if (commands.length === most) {
        throw new BadRequestError(`the body has more commands than the ${most} that this gateway takes; send several`)
      }
      commands.push(this.#command())
    }
    this.#end()
    if (commands.length === 0) throw new BadRequestError('the body has no command')
    return commands
  }

  #command(): GatewayCommand {
    if (this.#next() !== '[') throw this.#unlike('a command must be an array such as ["GET", "key"]')
    let name: string | undefined
    const args: string[] = []
    for (const _ of this.#elements()) {
      if (name === undefined) name = this.#name()
      else args.push(this.#argument())
    }
    if (!name) throw new BadRequestError('a command must begin with its name')
    return [name, ...args]
  }

  /** Steps from one element of an array to the next. The caller reads each element. */
  *#elements(): Generator<void> {
    this.#at++
    if (this.#next() === ']') {
      this.#at++
      return
    }
    for (;;) {
      yield
      const after = this.#next()
      if (after !== ',' && after !== ']') throw notJson()
      this.#at++
      if (after === ']') return
    }
  }

  #name(): string {
    if (this.#next() === '"') return this.#string()
    throw this.#unlike('a command must begin with its name')
  }

  #argument(): string {
    if (this.#next() === '"') return this.#string()
    const literal = this.#match(number) || this.#match(boolean)
    if (literal) return literal
    throw this.#unlike('an argument must be a string, a number or a boolean')
  }

  #string(): string {
    const start = this.#at
    let end = start
    do end = this.#text.indexOf('"', end + 1)
    while (end > 0 && this.#isEscaped(end))
    if (end < 0) throw notJson()
    this.#at = end + 1
    try {
      return JSON.parse(this.#text.slice(start, this.#at)) as string
    } catch {
      throw notJson()
    }
  }

  /** Whether an odd number of backslashes precedes this position. */
  #isEscaped(place: number): boolean {
    let before = place - 1
    while (this.#text[before] === '\\') before--
    return (place - before) % 2 === 0
  }

  /** Skips white space, and returns the character after it; the empty string at the end. */
  #next(): string {
    this.#match(space)
    return this.#text.charAt(this.#at)
  }

  /** Consumes what the sticky pattern matches here; returns the empty string if it does not match. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [found = ''] = pattern.exec(this.#text) ?? []
    this.#at += found.length
    return found
  }

  #end(): void {
    if (this.#next() !== '') throw notJson()
  }

  /** The error for a wrong or missing value here. */
  #unlike(message: string): BadRequestError {
    const begins = this.#text.charAt(this.#at)
    if (begins === '[') return new BadRequestError('a command has no arrays in it; several commands go to /pipeline')
    if (begins === '{' && this.#at > 0) return new BadRequestError('a command has no objects in it')
    return this.#match(number) || this.#match(/["{]|true|false|null/y) ? new BadRequestError(message) : notJson()
  }
}

/** Replaces the error of the runtime's parser, which quotes the text, which may contain a secret. */
const notJson = (): BadRequestError => new BadRequestError('the body is not JSON in UTF-8')
