import { type MachineState, watchMachine } from './measure/machine.ts'
import type { BenchOptions } from './options.ts'
import type { Sample, Scenario, Stage, Turn } from './scenarios/scenario.ts'

/** A sample, and the circumstances of its turn. */
export interface Measured extends Sample, MachineState {
  readonly scenario: string
  readonly round: number
}

/**
 * Runs every setting of a scenario, round by round, each contestant in turn.
 *
 * @param onSetting called with the measurements of a setting when it is complete
 */
export async function play(
  scenario: Scenario,
  options: BenchOptions,
  stage: Stage,
  onSetting: (measured: readonly Measured[]) => void,
): Promise<void> {
  for (const turns of scenario.settings(options)) {
    const measured: Measured[] = []
    for (let round = 1; round <= options.rounds; round++) {
      for (const turn of turns) {
        progress(`${scenario.name}: round ${round} of ${options.rounds}, ${turn.name}`)
        const watched = watchMachine()
        const samples = await playTurn(turn, stage)
        const machine = watched()
        measured.push(...samples.map((sample) => ({ scenario: scenario.name, ...sample, round, ...machine })))
      }
    }
    progress('')
    onSetting(measured)
  }
}

/** A contestant that fails loses its turn, and the others still have theirs. */
async function playTurn(turn: Turn, { server, admin }: Stage): Promise<readonly Sample[]> {
  try {
    await admin.command('FLUSHALL')
    return await turn.play({ server, admin })
  } catch (error) {
    console.error(`\n${turn.name}: ${String(error)}`)
    return []
  }
}

/** One line that overwrites itself, on a terminal. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
}
