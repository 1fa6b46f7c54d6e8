import { rounds } from '../../../test/support/scale.ts'
import { type Reply, recordOf, type Setting } from './setting.ts'

/** How often each key comes in a burst. */
export const timesEach: number = rounds(10, 3)

/** Duplicate requests over 20 keys: 200 in a soak. */
export interface Burst {
  readonly keys: readonly string[]
  /** What the store calls the keys' records. */
  readonly records: readonly string[]
  /** Every request, by its key. */
  readonly requests: readonly string[]
  /** How many payments were made for each key. */
  effects(): readonly number[]
  /** The replies to each key's requests. @param replies in the order of `requests` */
  byKey(replies: readonly Reply[]): readonly (readonly Reply[])[]
  /** How many different bodies the 201 answers of each key have. */
  bodies(replies: readonly Reply[]): readonly number[]
}

/** @param name what its keys begin with */
export function burstOf({ payments }: Setting, name: string): Burst {
  const keys = Array.from({ length: 20 }, (_, index) => `${name}-${index}`)
  const records = keys.map(recordOf)
  const byKey: Burst['byKey'] = (replies) =>
    keys.map((_, at) => replies.filter((_, index) => index % keys.length === at))
  const paid = (replies: readonly Reply[]) => replies.filter(({ status }) => status === 201)
  return {
    keys,
    records,
    requests: Array.from({ length: timesEach }, () => keys).flat(),
    effects: () => records.map((record) => payments.payments.filter((each) => each === record).length),
    byKey,
    bodies: (replies) => byKey(replies).map((each) => new Set(paid(each).map(({ text }) => text)).size),
  }
}

/** The kinds of keys in the store. */
export async function leftBehind({ redis }: Setting): Promise<readonly string[]> {
  const found = (await redis.command('KEYS', '*')) as readonly string[]
  return [...new Set(found.map((key) => (key.startsWith('{') ? key.replace(/^.*\}:/, '') : 'lock')))].sort()
}
