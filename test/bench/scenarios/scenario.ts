import type { RedisAdmin, RedisServer } from '@leasehold/testkit/redis'
import type { Contestant, Role } from '../contestants/contestant.ts'
import type { BenchOptions } from '../options.ts'

/** Something that lock libraries, or bridges, are compared in. */
export interface Scenario {
  readonly name: string
  readonly about: string
  /** Who takes part, unless the options say otherwise. */
  readonly contestants: readonly Pick<Contestant, 'name'>[]
  /** The figures of its tables, in order. */
  readonly columns: readonly Column[]
  /**
   * Settings, and for each the turns of one round: floors, then contestants, each with processes of its own that it warms
   * up. Rounds repeat these turns in the same order, so that what the machine does meanwhile falls on all alike.
   */
  settings(options: BenchOptions): readonly (readonly Turn[])[]
}

export interface Column {
  /** Of the figure. */
  readonly name: string
  readonly title: string
  readonly digits: number
  /** Less is better, more is better, or neither says anything; then there is no ratio. */
  readonly better?: 'less' | 'more'
  /** A ratio to every floor that has it, in a row for each, rather than to the first only. */
  readonly eachFloor?: boolean
}

export interface Turn {
  readonly name: string
  play(stage: Stage): Promise<readonly Sample[]>
}

/** Where a turn is played: a Redis of the bench's own, empty as the turn begins. */
export interface Stage {
  readonly server: RedisServer
  readonly admin: RedisAdmin
}

/** What one turn measured for one table. */
export interface Sample {
  /** What the table is about, such as `W = 100, hold 5 ms, 2 processes`. */
  readonly table: string
  readonly row: string
  readonly role: Role
  readonly figures: Figures
}

export type Figures = Readonly<Record<string, number>>
