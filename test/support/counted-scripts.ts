import { readFileSync } from 'node:fs'
import type { RedisTransport } from '@leasehold/core/redis'
import { variedTransport } from './varied-scripts.ts'

const counting = readFileSync(new URL('counting.lua', import.meta.url), 'utf8')

/** What one script call did: the commands that it called, and the values that it passed to them and got back. */
export interface Touched {
  readonly commands: number
  readonly values: number
}

/**
 * Runs each script on a real Redis, and reports what it did.
 *
 * @param change a change to the scripts, to show that the count notices it
 */
export const countedTransport = (
  real: RedisTransport,
  onCounted: (touched: Touched) => void,
  change: (script: string) => string = (script) => script,
): RedisTransport =>
  variedTransport(real, {
    text: (script) => `${counting}
local function script()
${change(script)}
end
return {script(), commands, values}`,
    reply(value) {
      const [reply, commands, values] = value as [unknown, number, number]
      onCounted({ commands, values })
      return reply
    },
  })
