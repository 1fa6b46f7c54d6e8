/** Whether this is a key, or a key prefix followed by `*`. Keys are well-formed Unicode. */
export const isPattern = (pattern: unknown): pattern is string =>
  typeof pattern === 'string' && /^[^*]*\*?$/.test(pattern) && !/\p{Surrogate}/u.test(pattern) && pattern !== ''

/** Whether one of the patterns covers the key. */
export const isCovered = (key: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => (pattern.endsWith('*') ? key.startsWith(pattern.slice(0, -1)) : key === pattern))
