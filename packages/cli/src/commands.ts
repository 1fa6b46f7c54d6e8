import { capacity } from './capacity/index.ts'
import type { CliCommand } from './cli-command.ts'
import { doctor } from './doctor/index.ts'
import { ls } from './ls/index.ts'
import { revoke } from './revoke/index.ts'
import { show } from './show/index.ts'
import { stress } from './stress/index.ts'
import { watch } from './watch/index.ts'

/** Every command, in the order of `--help`. */
export const commands: readonly CliCommand[] = [ls, show, revoke, watch, doctor, capacity, stress]
