import type { Shared } from '../key-locker.ts'
import type { Grant } from '../lease/grant.ts'
import { releaseGrant } from '../lease/release.ts'
import { together } from './together.ts'

/** Gives back, in the background, grants that no caller will get. Settles when that has ended. */
export function giveBack({ context, queue }: Shared, grants: readonly Grant[]): Promise<void> {
  const joined = together(context)
  const release = (grant: Grant): Promise<unknown> =>
    releaseGrant(joined, grant, { onReleased: (_, subscribers) => queue()?.ended(grant, subscribers) })
  return new Promise((resolve) => {
    const end = (): void => resolve()
    if (grants.length === 0) end()
    else context.work.background(() => Promise.all(grants.map(release)).then(end, end))
  })
}
