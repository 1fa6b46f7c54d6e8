import type { ScriptCall } from '../redis-transport.ts'

/** Arguments at least this long may be secret; shorter ones are numbers. */
const shortestSecret = 16

/** Removes a call's arguments, of which the token is one, from the message of an error about the call. */
export function withoutArguments(message: string, call: ScriptCall): string {
  let text = withoutQuotation(message)
  for (const arg of call.args) if (arg.length >= shortestSecret) text = text.replaceAll(arg, '(argument)')
  return text
}

/** Removes the arguments that Redis quotes when it does not know a command. */
export const withoutQuotation = (message: string): string => message.replace(/,? with args beginning with.*/s, '')
