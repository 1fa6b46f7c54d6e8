/** A key, or the beginning of keys followed by `*`; what UTF-8 cannot carry is in no key. */
export const isPattern = (pattern: unknown): pattern is string =>
  typeof pattern === 'string' && /^[^*]*\*?$/.test(pattern) && !/\p{Surrogate}/u.test(pattern) && pattern !== ''

/** Whether a key is one of those that the patterns name. */
export const isCovered = (key: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => (pattern.endsWith('*') ? key.startsWith(pattern.slice(0, -1)) : key === pattern))
