import type { BenchOptions } from '../options.ts'

/** How long each waiter holds: shorter where there are many, or the bench would mostly hold. */
export const holdMsFor = (waiters: number, { hold }: Pick<BenchOptions, 'hold'>): number =>
  hold ?? (waiters < 500 ? 5 : 1)

export const tableFor = (waiters: number, processes: number, options: Pick<BenchOptions, 'hold'>): string =>
  `W = ${waiters}, hold ${holdMsFor(waiters, options)} ms, ${processes} process${processes === 1 ? '' : 'es'}`
