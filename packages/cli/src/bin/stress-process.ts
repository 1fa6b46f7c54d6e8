import { contend } from '../stress/contend.ts'
import type { StressOrders, StressReport } from '../stress/orders.ts'

/** How long a report may take to reach the process that started this one, in milliseconds. */
const tellMs = 5_000

const tell = (report: StressReport): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, tellMs).unref()
    process.send?.(report, () => resolve())
  })

// The process that started this one is gone, and nobody wants the report.
process.once('disconnect', () => process.exit(1))
process.once('message', async (orders: StressOrders) => {
  const report = await contend(orders, (early) => void tell(early)).catch(
    (error: unknown): StressReport => ({
      type: 'failed',
      reason: error instanceof Error ? error.message : String(error),
    }),
  )
  await tell(report)
  process.exit()
})
