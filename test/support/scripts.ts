import { readFileSync } from 'node:fs'

/** The text of one of core's scripts as its author wrote it, for stories about what a passage of it is for. */
export const readScript = (name: string): string =>
  readFileSync(new URL(`../../packages/core/src/redis/scripts/${name}.lua`, import.meta.url), 'utf8')
