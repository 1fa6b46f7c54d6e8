/*
 * A process of a bench: connects one contestant, and runs jobs until its parent has gone. Arguments: the port of the
 * Redis, the contestant's name.
 */
import { contestantNamed } from '../contestants/index.ts'
import { type Jobs, jobsOf } from './jobs.ts'

export interface Order {
  readonly id: number
  readonly job: keyof Jobs
  readonly order: never
}

export interface Report {
  readonly id: number
  readonly answer?: unknown
  readonly problem?: string
}

const [port = '', name = ''] = process.argv.slice(2)
const jobs = jobsOf(await contestantNamed(name).connect(Number(port)), Number(port))

const report = (message: Report): unknown => process.send?.(message)

process.on('message', ({ id, job, order }: Order) => {
  jobs[job](order).then(
    (answer) => report({ id, answer }),
    (error: unknown) => report({ id, problem: String(error) }),
  )
})
process.on('disconnect', () => process.exit())
report({ id: 0 })
