import type { Shared } from '../key-locker.ts'
import type { Grant } from '../lease/grant.ts'
import { releaseGrant } from '../lease/release.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import { together } from './together.ts'

/** Gives back, in the background, grants that no caller will get. Settles when that has ended. */
export function giveBack({ context, queue }: Shared, grants: readonly Grant[]): Promise<void> {
  const joined = together(context)
  const release = (grant: Grant): Promise<void> =>
    new Promise((resolve) => {
      const onReleased = (_: ReleaseResult, subscribers: number | null): void => {
        queue()?.ended(grant, subscribers)
        resolve()
      }
      releaseGrant(joined, grant, { onReleased })
    })
  return new Promise((resolve) => {
    const end = (): void => resolve()
    if (grants.length === 0) end()
    else context.work.background(() => Promise.all(grants.map(release)).then(end, end))
  })
}
