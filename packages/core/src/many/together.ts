import type { Context } from '../context.ts'
import type { Attempt } from '../store/attempt.ts'
import { type AnyVerb, callsBy, sendAlone, type Verb } from '../store/calls.ts'
import { Command } from '../store/command.ts'
import { CommandTimes } from '../store/command-times.ts'
import { mostKeys } from './figures.ts'

/**
 * A context whose requests leave together: those of one turn become one command for each verb and node. They all belong
 * to one call, so this also works on Workers.
 */
export function together(context: Context): Context {
  const { store, clock } = context
  const anyVerb = store as unknown as AnyVerb
  const times = new CommandTimes(clock)
  /** Commands not sent yet, by verb and node. Only the last of each may be joined. */
  const open = new Map<string, { readonly verb: Verb; readonly commands: Command[] }>()

  const sending =
    (verb: Verb) =>
    (request: { readonly key: string }, attempt: Attempt<unknown>): void => {
      if (open.size === 0) void Promise.resolve().then(leave)
      const name = `${verb} ${store.nodeOf(request.key)}`
      const lane = open.get(name) ?? { verb, commands: [] }
      open.set(name, lane)
      const { commands } = lane
      // Requests whose deadlines differ too much are sent separately.
      if (!commands[commands.length - 1]?.join(request, attempt, mostKeys))
        commands.push(new Command(times, request, attempt))
    }

  function leave(): void {
    const lanes = [...open.values()]
    open.clear()
    for (const { verb, commands } of lanes) for (const command of commands) if (command.send()) carry(verb, command)
  }

  function carry(verb: Verb, command: Command): void {
    command.time()
    const reject = (error: unknown): void =>
      command.reject(error, (request, attempt) => sendAlone(anyVerb, verb, request, attempt))
    try {
      anyVerb[verb](command.requests, command.call).then((outcomes) => command.settle(outcomes), reject)
    } catch (error) {
      reject(error)
    }
  }

  return { ...context, calls: callsBy(sending) }
}
