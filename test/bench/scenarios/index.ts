import { bridge } from './bridge.ts'
import { handOff } from './hand-off.ts'
import type { Scenario } from './scenario.ts'
import { uncontended } from './uncontended.ts'
import { waitingCost } from './waiting.ts'

export const scenarios: readonly Scenario[] = [handOff, waitingCost, uncontended, bridge]

/** @throws Error for a name that no scenario has */
export function scenarioNamed(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name)
  if (!found)
    throw new Error(`No scenario is called "${name}"; there are ${scenarios.map((each) => each.name).join(', ')}`)
  return found
}
