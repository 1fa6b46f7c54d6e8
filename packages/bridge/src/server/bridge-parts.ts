import type { Context } from 'hono'
import type { Client } from './access.ts'
import type { CheckedOptions } from './bridge-options.ts'
import type { ReleaseWatch } from './release-watch.ts'

/** What the routes of a bridge share. */
export interface BridgeParts {
  readonly options: CheckedOptions
  readonly watch: ReleaseWatch
  /** The bridge's prefix, percent-encoded as in the header. */
  readonly prefix: string
  /** Resolves with the client that sent the request. @throws ProblemError (401) */
  readonly clientOf: (c: Context) => Promise<Client>
  /** Called when an admitted request starts to need Redis. Returns a function to call when it no longer does. */
  readonly needsRedis: () => () => void
}
