import { InvalidOptionError } from '../errors.ts'

/**
 * The layout of Redis keys and channels. Nothing else knows it.
 *
 * The lock itself is `prefix + key`, a plain string key as other lock libraries use it. Everything else of that lock
 * begins with `{tag}`, which no lock key does, so it can collide with no user's key, and lies in the lock's cluster
 * slot: without a hash tag in the lock's key the tag is the whole of it.
 */
export interface KeyLayout {
  /** `lock:order:1` */
  lock(key: string): string
  /** `{lock:order:1}:fence`; `{42}:lock:order:{42}:fence` for a key with a hash tag. */
  fence(key: string): string
  /** `lock:release:order:1`: a channel, not a key. */
  releaseChannel(key: string): string
}

/** The prefix of every key and channel unless the store is given another. */
export const defaultPrefix = 'lock:'

/**
 * @throws InvalidOptionError for a prefix that is empty or begins with `{`. Its functions throw one for a key with a
 *   `}` but no valid hash tag, which would tear its records into another slot.
 */
export function keyLayout(prefix: string = defaultPrefix): KeyLayout {
  if (typeof prefix !== 'string' || prefix === '' || prefix.startsWith('{')) {
    throw new InvalidOptionError('prefix', 'must be a non-empty string that does not begin with "{"')
  }
  return {
    lock: (key) => prefix + key,
    fence(key) {
      const lock = prefix + key
      const tag = hashTag(lock)
      if (tag === null && lock.includes('}')) {
        throw new InvalidOptionError('key', 'has a "}" but no hash tag such as "{42}" before it; rename it')
      }
      return tag === null ? `{${lock}}:fence` : `{${tag}}:${lock}:fence`
    },
    releaseChannel: (key) => `${prefix}release:${key}`,
  }
}

/** The part that Redis Cluster hashes: between the first `{` and the first `}` after it, unless that is empty. */
function hashTag(key: string): string | null {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  return open >= 0 && close > open + 1 ? key.slice(open + 1, close) : null
}
