import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import type { Contestant } from './contestants/contestant.ts'

export interface BenchOptions {
  readonly scenarios: readonly string[]
  readonly list: boolean
  /** How many turns each contestant has. */
  readonly rounds: number
  /** `handoff`: how many wait, in how many processes, and how long each holds (by default it depends on W). */
  readonly waiters: readonly number[]
  readonly processes: readonly number[]
  readonly hold: number | undefined
  /** `uncontended`: how many loops run at once. */
  readonly inFlight: readonly number[]
  /** `uncontended`, `hotkey`, `growth`: how long loops run. */
  readonly loopMs: number
  /** `hotkey`: the number of processes over which its loops are spread. */
  readonly hotProcesses: readonly number[]
  /** `renewal`: how many locks a process holds. */
  readonly leases: readonly number[]
  /** `memory`: how many are weighed. */
  readonly weighed: number
  /** `burst`: how many locks are requested at once. */
  readonly burst: number
  /** `bridge`: how many wait at once. */
  readonly connections: readonly number[]
  /** The version of Node that contestants run on; by default that of the bench. */
  readonly node: string | undefined
  /** Contestants, by name; by default all. */
  readonly only: readonly string[]
  /** A file for all figures; scenarios from an earlier run that this one does not play stay in it. */
  readonly json: string | undefined
  /** Such a file, from which charts and tables are regenerated. Nothing is measured. */
  readonly draw: string | undefined
}

/** @throws TypeError for an unknown option · RangeError for a bad number */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      rounds: { type: 'string', default: '5' },
      waiters: { type: 'string', default: '10,100,1000' },
      processes: { type: 'string', default: '1,2,8' },
      hold: { type: 'string' },
      'in-flight': { type: 'string', default: '1,16,256' },
      'loop-ms': { type: 'string', default: '1000' },
      'hot-processes': { type: 'string', default: '1,2,4' },
      leases: { type: 'string', default: '1000,10000' },
      weighed: { type: 'string', default: '2000' },
      burst: { type: 'string', default: '10000' },
      connections: { type: 'string', default: '1000,10000' },
      node: { type: 'string' },
      only: { type: 'string', default: '' },
      json: { type: 'string' },
      draw: { type: 'string' },
    },
  })
  return {
    scenarios: positionals,
    list: values.list || values.help,
    rounds: wholeNumber('rounds', values.rounds),
    waiters: wholeNumbers('waiters', values.waiters),
    processes: wholeNumbers('processes', values.processes),
    hold: values.hold === undefined ? undefined : wholeNumber('hold', values.hold),
    inFlight: wholeNumbers('in-flight', values['in-flight']),
    loopMs: wholeNumber('loop-ms', values['loop-ms']),
    hotProcesses: wholeNumbers('hot-processes', values['hot-processes']),
    leases: wholeNumbers('leases', values.leases),
    weighed: wholeNumber('weighed', values.weighed),
    burst: wholeNumber('burst', values.burst),
    connections: wholeNumbers('connections', values.connections),
    node: values.node,
    only: values.only === '' ? [] : values.only.split(','),
    json: values.json,
    draw: values.draw,
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
  --loop-ms 1000            uncontended, hotkey, growth: for how long
  --hot-processes 1,2,4     hotkey: over how many processes the loops are spread
  --leases 1000,10000       renewal: how many locks a process holds
  --weighed 2000            memory: how many locks or waiters are weighed
  --burst 10000             burst: how many locks are asked for at once
  --connections 1000,10000  bridge: how many wait at once
  --node 20                 contestants run on that version of Node: 20, 22 or 24
  --only leasehold,redlock  contestants
  --json file               every figure, beside the tables
  --draw file               draws the charts again, beside such a file, and the tables of the page`
