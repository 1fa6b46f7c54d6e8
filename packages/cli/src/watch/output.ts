import type { Terminal } from '../output/terminal.ts'
import { changeLine } from './change-line.ts'
import type { ChangeName } from './lock-changes.ts'
import type { Observation } from './observer.ts'
import { Screen } from './screen.ts'

/** Where `watch` shows what it sees. */
export interface Output {
  show(observation: Observation, note: string | undefined): void
  close(): void
}

/**
 * A table that is redrawn on a terminal, lines elsewhere, and JSON if asked for.
 *
 * @param watched which locks of which server
 */
export function outputOf(terminal: Terminal, json: boolean, watched: string): Output {
  if (json) return asLines(terminal, (at, change) => JSON.stringify({ at: at.toISOString(), ...change }), asJson)
  if (terminal.isTerminal) return onScreen(terminal, `leasehold watch ${watched}`)
  return asLines(terminal, (at, change) => changeLine(at, change, terminal.colors), asText, `watching ${watched}`)
}

type Change = Observation['changes'][number]

const asJson = (at: Date, note: string): string => JSON.stringify({ at: at.toISOString(), note })
const asText = (at: Date, note: string): string => `${at.toISOString().slice(11, 23)}  ${note}`

/** @param opening what to say once the first look has succeeded, before anything changes */
function asLines(
  terminal: Terminal,
  lineOf: (at: Date, change: Change) => string,
  noteOf: (at: Date, note: string) => string,
  opening?: string,
): Output {
  const tell = (note: string): void => terminal.tell(`${noteOf(new Date(), note)}\n`)
  let unsaid = opening
  let told: string | undefined
  return {
    show({ changes }, note) {
      if (unsaid !== undefined) tell(unsaid)
      unsaid = undefined
      for (const change of changes) terminal.write(`${lineOf(new Date(), change)}\n`)
      // Each note once, and again if it returns later.
      if (note !== undefined && note !== told) tell(note)
      told = note
    },
    close: () => undefined,
  }
}

/** The time between updates of the times on the screen, in milliseconds. */
const redrawMs = 500

function onScreen(terminal: Terminal, title: string): Output {
  const screen = new Screen(terminal, title)
  const counts = new Map<ChangeName, number>()
  const timer = setInterval(() => screen.draw(), redrawMs)
  const stopResizing = terminal.onResize(() => screen.draw())
  return {
    show(observation, note) {
      for (const { change } of observation.changes) counts.set(change, (counts.get(change) ?? 0) + 1)
      screen.show(observation, note)
    },
    close() {
      clearInterval(timer)
      stopResizing()
      screen.close()
      const seen = Array.from(counts, ([change, count]) => `${count} ${change}`)
      terminal.write(`Seen: ${seen.length > 0 ? seen.join(', ') : 'no change'}\n`)
    },
  }
}
