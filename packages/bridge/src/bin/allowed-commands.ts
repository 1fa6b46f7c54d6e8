import type { GatewayRedis, GatewayReply } from '../gateway/index.ts'
import { textOf } from '../http/text.ts'
import { SettingsError } from './program-settings.ts'

/** The positions of fields in the reply to `COMMAND INFO`. */
const place = { flags: 2, categories: 6, subcommands: 9 } as const

/** Commands that block only when asked to; the gateway checks each call for that. */
const blockWhenAsked: ReadonlySet<string> = new Set(['XREAD', 'XREADGROUP'])

/**
 * Asks Redis whether the commands of `--allow` can work: whether it has them, and whether they would block the
 * connection that all requests share. Commands that change the connection have already been refused, by name.
 *
 * @returns why Redis could not be asked, in its own words; otherwise undefined
 * @throws SettingsError naming the entry
 */
export async function checkAllowed(
  entries: readonly string[],
  { pipeline }: Pick<GatewayRedis, 'pipeline'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (entries.length === 0) return undefined
  const names = entries.map((entry) => entry.trim().toUpperCase().split(/\s+/))
  const replies = await pipeline(
    names.map(([name = '']) => ['COMMAND', 'INFO', name]),
    signal,
  )
  for (const [index, [name = '', subcommand]] of names.entries()) {
    const reply = replies[index]
    if (!isList(reply)) return (reply as { readonly error?: string }).error ?? 'COMMAND INFO answers nothing'
    const problem = problemWith(name, subcommand, reply[0])
    if (problem) throw new SettingsError(`--allow cannot have ${[name, subcommand].join(' ').trim()}: ${problem}`)
  }
  return undefined
}

function problemWith(
  name: string,
  subcommand: string | undefined,
  command: GatewayReply | undefined,
): string | undefined {
  if (!isList(command)) return `this Redis has no command ${name}`
  const subcommands = listAt(command, place.subcommands)
  // Before version 7, Redis lists no subcommands.
  if (subcommand === undefined || !subcommands) return blocks(name, command)
  const found = subcommands.find((each) => isList(each) && wordOf(each[0]) === `${name}|${subcommand}`)
  if (!isList(found)) return `in this Redis, ${name} has no subcommand ${subcommand}`
  return blocks(name, found)
}

function blocks(name: string, command: readonly GatewayReply[]): string | undefined {
  const words = [...(listAt(command, place.flags) ?? []), ...(listAt(command, place.categories) ?? [])].map(wordOf)
  // The flag exists since version 7.
  const blocking = words.includes('BLOCKING') || words.includes('@BLOCKING')
  return blocking && !blockWhenAsked.has(name) ? 'it would block the connection that all requests share' : undefined
}

const isList = (reply: GatewayReply | undefined): reply is readonly GatewayReply[] => Array.isArray(reply)

function listAt(command: readonly GatewayReply[], index: number): readonly GatewayReply[] | undefined {
  const list = command[index]
  return isList(list) ? list : undefined
}

const wordOf = (reply: GatewayReply | undefined): string =>
  typeof reply === 'string' || reply instanceof Uint8Array ? textOf(reply).toUpperCase() : ''
