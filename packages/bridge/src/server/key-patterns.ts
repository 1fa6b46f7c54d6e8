/** A key, or the beginning of keys followed by `*`. */
export const isPattern = (pattern: unknown): pattern is string =>
  typeof pattern === 'string' && /^[^*]*\*?$/.test(pattern) && pattern !== ''

/** Whether a key is one of those that the patterns name. */
export const isCovered = (key: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => (pattern.endsWith('*') ? key.startsWith(pattern.slice(0, -1)) : key === pattern))
