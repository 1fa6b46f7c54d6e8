import { demandOption, InvalidOptionError } from '../errors.ts'

/**
 * The layout of Redis keys and channels. Nothing else knows it.
 *
 * The lock itself is `prefix + key`, a plain string key as in other lock libraries. The name of every other record of
 * that lock begins with `{tag}`. No lock's key begins like that, so a record never collides with a lock, and it lies in
 * the lock's cluster slot. The tag is the hash tag of the lock's key, or the whole key if it has none.
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

/** The prefix of every key and channel unless the store and its notifier are given another. */
export const defaultPrefix = 'lock:'

/**
 * Returns the names that belong to a prefix, and validates it: every store accepts `keyLayout(given).prefix`.
 *
 * The layout's functions throw an InvalidOptionError for a key with a `}` but no valid hash tag, because its records
 * would lie in another slot.
 *
 * @throws InvalidOptionError for a prefix that is empty or begins with `{`
 */
export function keyLayout(prefix: string = defaultPrefix): KeyLayout {
  demandOption(
    typeof prefix === 'string' && /^[^{]/.test(prefix),
    'prefix',
    'text that does not begin with "{"',
    prefix,
  )
  // A call asks for the names of its key several times in a row, and each time would join two texts.
  let last = ''
  let lastLock = prefix
  const lock = (key: string): string => {
    if (key !== last) {
      lastLock = withSlot(prefix + key)
      last = key
    }
    return lastLock
  }
  return {
    prefix,
    lock,
    fence: (key) => recordBeside(lock(key), 'fence'),
    releaseChannel: (key) => `${prefix}release:${key}`,
  }
}

/**
 * The name of a key's record of work done: `{lock:order:1}:record`. Not every store has it: it is not in `KeyLayout`.
 */
export const workRecord = ({ prefix }: KeyLayout, key: string): string => recordBeside(prefix + key, 'record')

/**
 * The keys of a lock that may have a queue: the lock, its fence record, and `{lock:order:1}:queue`, `:waiters`,
 * `:inboxes` and `:state`. Like the record of work done, the last four are not in `KeyLayout`, because not every store
 * has them.
 */
export const queueKeys = (
  { prefix, lock, fence }: KeyLayout,
  key: string,
): [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string] => {
  const beside = (record: string): string => recordBeside(prefix + key, record)
  return [lock(key), fence(key), beside('queue'), beside('waiters'), beside('inboxes'), beside('state')]
}

/**
 * The key of the lock whose entry or queue has this name: the inverse of `lock` and of `queueKeys`. Undefined for a
 * name that no lock or queue can have.
 */
export function keyOfName(keys: KeyLayout, name: string): string | undefined {
  const [, tagged, untagged] = /^\{(?:[^}]+\}:(.+)|(.+)\}):queue$/s.exec(name) ?? []
  return [name, untagged, tagged]
    .filter((lock) => lock?.startsWith(keys.prefix))
    .map((lock = '') => lock.slice(keys.prefix.length))
    .find((key) => key !== '' && hasSlot(keys.prefix + key) && queueKeys(keys, key).includes(name))
}

const hasSlot = (lock: string): boolean => !lock.includes('}') || hashTag(lock) !== undefined

/** The keys of a room: `{lock:doc:1}:entries` and `:room`. Like a queue's keys, they are not in `KeyLayout`. */
export const roomKeys = ({ prefix }: KeyLayout, key: string): [entries: string, room: string] => [
  recordBeside(prefix + key, 'entries'),
  recordBeside(prefix + key, 'room'),
]

/** The channel of an inbox: `lock:turn:5f0c…`. It is not a release channel, so that nobody else hears of turns. */
export const inboxChannel = (prefix: string, inbox: string): string => `${prefix}turn:${inbox}`

/** The pattern that matches every release channel under the layout's prefix, whose glob characters are escaped. */
export const releasePattern = ({ releaseChannel }: KeyLayout): string => `${literally(releaseChannel(''))}*`

/** Escapes a text so that, as a glob, it matches only itself. */
export const literally = (text: string): string => text.replace(/[\\*?[\]]/g, '\\$&')

/**
 * The name of a record that belongs to a key: `{stock:42}:guard`, or `{42}:stock:{42}:guard` for a key with a hash tag.
 * The record lies in the key's cluster slot.
 *
 * @throws InvalidOptionError for a key with a `}` but no valid hash tag
 */
export function recordBeside(key: string, record: string): string {
  const tag = hashTag(withSlot(key))
  return tag ? `{${tag}}:${key}:${record}` : `{${key}}:${record}`
}

/**
 * Returns the key itself.
 *
 * @throws InvalidOptionError for a key whose records could not lie in its slot
 */
function withSlot(key: string): string {
  if (key.includes('}') && !hashTag(key)) {
    throw new InvalidOptionError('key', 'needs a hash tag such as "{42}" if it has a "}"')
  }
  return key
}

/** The part of a key that Redis Cluster hashes: between the first `{` and the next `}`, unless that is empty. */
export const hashTag = (key: string): string | undefined =>
  // Most keys have none, and a regular expression costs more than this look.
  key.includes('}') ? /^[^{]*\{([^}]+)\}/.exec(key)?.[1] : undefined
