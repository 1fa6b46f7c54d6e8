import type { ScriptCall } from '../redis-transport.ts'

/** Arguments at least this long may be secret; shorter ones are numbers. */
const shortestSecret = 16

/** The message of an error about a call, without the call's arguments: the token is one of them. */
export function withoutArguments(message: string, call: ScriptCall): string {
  let text = withoutQuotation(message)
  for (const arg of call.args) if (arg.length >= shortestSecret) text = text.replaceAll(arg, '(argument)')
  return text
}

/** Redis quotes the arguments of a command it does not know. */
export const withoutQuotation = (message: string): string => message.replace(/,? with args beginning with.*/s, '')
