import type { Context } from 'hono'
import type { Client } from './access.ts'
import type { CheckedOptions } from './bridge-options.ts'
import type { ReleaseWatch } from './release-watch.ts'

/** What the routes of a bridge share. */
export interface BridgeParts {
  readonly options: CheckedOptions
  readonly watch: ReleaseWatch
  /** Percent-encoded, as in the header. */
  readonly prefix: string
  /** Who sent the request. @throws ProblemError (401) */
  readonly clientOf: (c: Context) => Promise<Client>
  /** Called when a request that was let in needs Redis from now on. Returns what to call when it no longer does. */
  readonly needsRedis: () => () => void
}
