import { demandOption, InvalidOptionError } from '../errors.ts'

/**
 * The layout of Redis keys and channels. Nothing else knows it.
 *
 * The lock itself is `prefix + key`, a plain string key as other lock libraries use it. Everything else of that lock
 * begins with `{tag}`, which no lock key does, so it can collide with no user's key, and lies in the lock's cluster
 * slot: without a hash tag in the lock's key the tag is the whole of it.
 */
export interface KeyLayout {
  /** `lock:` */
  readonly prefix: string
  /** `lock:order:1` */
  lock(key: string): string
  /** `{lock:order:1}:fence`; `{42}:lock:order:{42}:fence` for a key with a hash tag. */
  fence(key: string): string
  /** `lock:release:order:1`: a channel, not a key. */
  releaseChannel(key: string): string
}

/** The prefix of every key and channel unless the store is given another. */
const defaultPrefix = 'lock:'

/**
 * @throws InvalidOptionError for a prefix that is empty or begins with `{`. The layout throws one for a key with a
 *   `}` but no valid hash tag, which would tear its records into another slot.
 */
export function keyLayout(prefix: string = defaultPrefix): KeyLayout {
  demandOption(
    typeof prefix === 'string' && /^[^{]/.test(prefix),
    'prefix',
    'text that does not begin with "{"',
    prefix,
  )
  return {
    prefix,
    lock: (key) => withSlot(prefix + key),
    fence: (key) => recordBeside(prefix + key, 'fence'),
    releaseChannel: (key) => `${prefix}release:${key}`,
  }
}

/**
 * The name of a record that belongs to a key: `{stock:42}:guard`, or `{42}:stock:{42}:guard` for a key with a hash tag.
 * It lies in the key's cluster slot.
 *
 * @throws InvalidOptionError for a key with a `}` but no valid hash tag
 */
export function recordBeside(key: string, record: string): string {
  const tag = hashTag(withSlot(key))
  return tag ? `{${tag}}:${key}:${record}` : `{${key}}:${record}`
}

/** The key itself. @throws InvalidOptionError for one whose records could not lie in its slot. */
function withSlot(key: string): string {
  if (key.includes('}') && !hashTag(key)) {
    throw new InvalidOptionError('key', 'needs a hash tag such as "{42}" if it has a "}"')
  }
  return key
}

/** The part that Redis Cluster hashes: between the first `{` and the first `}` after it, unless that is empty. */
export const hashTag = (key: string): string | undefined => /^[^{]*\{([^}]+)\}/.exec(key)?.[1]
