import { randomUUID } from 'node:crypto'
import { rawIoredis } from '../contestants/raw-ioredis.ts'
import { startCrew } from '../crew/crew.ts'
import type { Series } from '../crew/floor-jobs.ts'
import type { Jobs } from '../crew/jobs.ts'
import { median, percentile } from '../measure/statistics.ts'
import type { BenchOptions } from '../options.ts'
import { holdMsFor, tableFor } from './hand-off-sizes.ts'
import type { Figures, Sample, Turn } from './scenario.ts'

/** Compiles what is measured. */
const warmUp: Series = { count: 2_000, everyMs: 0 }

/** How long each message took, in milliseconds. */
async function published([publisher, subscriber]: readonly [Jobs, Jobs], series: Series): Promise<readonly number[]> {
  const channel = `floor-${randomUUID()}`
  await subscriber.listen({ channel, count: series.count })
  const sent = await publisher.announce({ channel, ...series })
  const heard = await subscriber.listen({ channel, count: series.count })
  return sent.map((sentAt, message) => (heard[message] ?? Number.NaN) - sentAt)
}

/**
 * The lower bound for any hand-off through the server: the time from a PUBLISH until its subscriber hears it, plus one
 * round trip. Both pause between two measurements, as holders do. The lock itself has to send one command to release
 * it, and one to take it.
 */
export const handOffFloor = (processes: number, options: BenchOptions): Turn => ({
  name: `floor, ${processes} processes`,
  async play({ server }) {
    await using crew = await startCrew(Math.min(processes, 2), rawIoredis, server.port)
    const [publisher, subscriber = publisher] = crew.members
    if (!publisher || !subscriber) throw new Error('There is nobody to measure with')
    const samples: Sample[] = []
    await published([publisher, subscriber], warmUp)
    await publisher.roundTrips(warmUp)
    for (const waiters of options.waiters) {
      const series = { count: Math.min(waiters, 100), everyMs: holdMsFor(waiters, options) }
      const wakeUps = await published([publisher, subscriber], series)
      const roundTrips = await publisher.roundTrips(series)

      const row = (name: string, figures: Figures): Sample => ({
        table: tableFor(waiters, processes, options),
        row: name,
        role: 'floor',
        figures,
      })
      const [wakeMs, tripMs] = [median(wakeUps), median(roundTrips)]
      samples.push(
        row('floor: PUBLISH', { p50: wakeMs, p99: percentile(wakeUps, 0.99), commands: 2 }),
        row('floor: round trip', { p50: tripMs, p99: percentile(roundTrips, 0.99) }),
        row('2 PUBLISH + round trip', { p50: 2 * wakeMs + tripMs }),
      )
    }
    return samples
  },
})
