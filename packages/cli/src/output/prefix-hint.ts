import type { ConnectionSettings } from '../connection/settings.ts'

/** What to try if nothing was found and the typed text begins with the prefix; else empty. */
export const prefixHint = (what: 'key' | 'pattern', typed: string, { prefix }: ConnectionSettings): string =>
  typed.startsWith(prefix) ? `Write the ${what} without the prefix ${prefix}\n` : ''
