import type { LockerEvent } from '@leasehold/core'
import { type LocalProcess, startNodeProgram } from '@leasehold/example-local/node-program'

export type Server = LocalProcess

const main = new URL('../src/main.ts', import.meta.url)

/** Starts the service in its own process. `onEvent` is called with what its locker reports. */
export const startServer = (
  env: Readonly<Record<string, string>>,
  onEvent?: (event: LockerEvent) => void,
): Promise<Server> => startNodeProgram(main, env, onEvent && ((event) => onEvent(event as LockerEvent)))
