import type { Context } from 'hono'
import type { Client } from './access.ts'
import type { CheckedOptions } from './bridge-options.ts'
import type { ReleaseWatch } from './release-watch.ts'

/** What the routes of a bridge share. */
export interface BridgeParts {
  readonly options: CheckedOptions
  readonly watch: ReleaseWatch
  /** As a header has it. */
  readonly prefix: string
  /** Who asks. @throws ProblemError (401) */
  readonly clientOf: (c: Context) => Promise<Client>
  /** Told that a request which was let in needs Redis from now on; answers what to call once it does not any more. */
  readonly needsRedis: () => () => void
}
