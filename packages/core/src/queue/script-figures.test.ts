import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { mostDropped, mostHolders, mostShown, mostTurns, queueMemoryMs } from '../store/queue-figures.ts'

/** The values of a line `local a, b = 1, 2` of a script, by name. */
function figuresOf(script: string, first: string): Readonly<Record<string, number>> {
  const text = readFileSync(new URL(script, import.meta.url), 'utf8')
  const [, names = '', values = ''] = new RegExp(`^local (${first}[^=]*) = (.*)$`, 'm').exec(text) ?? []
  const numbers = values.split(',').map(Number)
  return Object.fromEntries(names.split(',').map((name, index) => [name.trim(), numbers[index] ?? Number.NaN]))
}

it('the scripts go by the figures of the memory store', () => {
  expect(figuresOf('turns.part.lua', 'turnBase')).toMatchObject({ mostTurns, mostDropped, remembered: queueMemoryMs })
  expect(figuresOf('inspect.lua', 'mostHolders')).toMatchObject({ mostHolders, mostWaiters: mostShown })
})
