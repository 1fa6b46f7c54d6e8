import { readFileSync } from 'node:fs'

/** The text of one of core's scripts as its author wrote it, for stories about the purpose of a passage. */
export const readScript = (name: string): string =>
  readFileSync(new URL(`../../packages/core/src/redis/scripts/${name}.lua`, import.meta.url), 'utf8')
