import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import type { Contestant } from './contestants/contestant.ts'

export interface BenchOptions {
  readonly scenarios: readonly string[]
  readonly list: boolean
  /** How often each contestant has its turn. */
  readonly rounds: number
  /** `handoff`: how many wait, in how many processes, and for how long each holds (by default it depends on W). */
  readonly waiters: readonly number[]
  readonly processes: readonly number[]
  readonly hold: number | undefined
  /** `uncontended`: how many loops run at once, and for how long. */
  readonly inFlight: readonly number[]
  readonly loopMs: number
  /** `bridge`: how many wait at once. */
  readonly connections: readonly number[]
  /** Contestants, by name; by default all. */
  readonly only: readonly string[]
  /** A file for all samples. */
  readonly json: string | undefined
}

/** @throws TypeError for an unknown option · RangeError for a bad number */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      list: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '5' },
      waiters: { type: 'string', default: '10,100,1000' },
      processes: { type: 'string', default: '1,2,8' },
      hold: { type: 'string' },
      'in-flight': { type: 'string', default: '1,16,256' },
      'loop-ms': { type: 'string', default: '1000' },
      connections: { type: 'string', default: '1000,10000' },
      only: { type: 'string', default: '' },
      json: { type: 'string' },
    },
  })
  return {
    scenarios: positionals,
    list: values.list,
    rounds: wholeNumber('rounds', values.rounds),
    waiters: wholeNumbers('waiters', values.waiters),
    processes: wholeNumbers('processes', values.processes),
    hold: values.hold === undefined ? undefined : wholeNumber('hold', values.hold),
    inFlight: wholeNumbers('in-flight', values['in-flight']),
    loopMs: wholeNumber('loop-ms', values['loop-ms']),
    connections: wholeNumbers('connections', values.connections),
    only: values.only === '' ? [] : values.only.split(','),
    json: values.json,
  }
}

/** The contestants that `--only` leaves. */
export const chosen = <T extends Pick<Contestant, 'name'>>(
  contestants: readonly T[],
  { only }: BenchOptions,
): readonly T[] => (only.length === 0 ? contestants : contestants.filter(({ name }) => only.includes(name)))

const wholeNumbers = (option: string, text: string): readonly number[] =>
  text.split(',').map((part) => wholeNumber(option, part))

function wholeNumber(option: string, text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0) return value
  throw new RangeError(`--${option} takes whole numbers above 0, not "${text}"`)
}

export const usage: string = `npm run bench -- <scenario…> [options]
  --list                    the scenarios and their contestants
  --rounds 5                how often each contestant has its turn
  --waiters 10,100,1000     handoff: how many wait
  --processes 1,2,8         handoff: in how many processes (this machine has ${availableParallelism()} processors)
  --hold 5                  handoff: how long each holds, in ms (default 5, or 1 from 500 waiters on)
  --in-flight 1,16,256      uncontended: how many loops at once
  --loop-ms 1000            uncontended: for how long
  --connections 1000,10000  bridge: how many wait at once
  --only leasehold,redlock  contestants
  --json file               every sample, beside the tables`
