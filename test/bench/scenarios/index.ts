import { alternating } from './alternating.ts'
import { bridge } from './bridge.ts'
import { burst } from './burst.ts'
import { firstLocks } from './first-locks.ts'
import { growth } from './growth.ts'
import { handOff } from './hand-off.ts'
import { hotKey } from './hot-key.ts'
import { memory } from './memory.ts'
import { permits } from './permits.ts'
import { renewal } from './renewal.ts'
import type { Scenario } from './scenario.ts'
import { uncontended } from './uncontended.ts'
import { waitingCost } from './waiting.ts'

export const scenarios: readonly Scenario[] = [
  uncontended,
  alternating,
  handOff,
  hotKey,
  permits,
  waitingCost,
  renewal,
  memory,
  growth,
  firstLocks,
  burst,
  bridge,
]

/** @throws Error for an unknown scenario name */
export function scenarioNamed(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name)
  if (!found)
    throw new Error(`No scenario is called "${name}"; there are ${scenarios.map((each) => each.name).join(', ')}`)
  return found
}
