import { readFileSync } from 'node:fs'
import { type Duration, parseDuration } from '@leasehold/core'

/** The environment variables of a program. Flags take precedence over them. */
export type Environment = Readonly<Record<string, string | undefined>>

/** A flag or a variable is wrong. The message is for whoever starts the program, and contains no secret. */
export class SettingsError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SettingsError'
  }
}

/** @throws SettingsError for what `parse` cannot read. */
export function parsed<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // The argument may be a token without its flag, so it is not quoted.
    throw new SettingsError(
      code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL' ? 'there is an argument without its flag' : message,
    )
  }
}

/** Parses a comma-separated list in a variable. */
export const listed = (text: string | undefined): readonly string[] =>
  (text?.split(',') ?? []).map((part) => part.trim()).filter((part) => part !== '')

/** @throws SettingsError that names the flag and the variable. */
export function redisUrl(given: string | undefined, variable: string): string {
  if (!given) throw new SettingsError(`no Redis: use --redis or ${variable}, such as redis://127.0.0.1:6379`)
  // Not quoted: it may contain a password.
  if (!/^rediss?:\/\/[^/]/.test(given) || !URL.canParse(given)) {
    throw new SettingsError('--redis must be a URL such as redis://127.0.0.1:6379')
  }
  return given
}

/** @throws SettingsError */
export function wholeNumber(flag: string, text: string, least: number, most: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (number >= least && number <= most) return number
  throw new SettingsError(`${flag} must be a whole number from ${least} to ${most}`)
}

/** @throws SettingsError */
export function duration(flag: string, text: string): Duration {
  try {
    parseDuration(flag, text)
    return text as Duration
  } catch {
    throw new SettingsError(`${flag} must be a time such as 90m or 24h`)
  }
}

/** The version in a package's manifest. */
export const versionIn = (manifest: URL): string =>
  (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version
