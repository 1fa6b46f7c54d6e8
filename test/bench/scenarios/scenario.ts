import type { RedisAdmin, RedisServer } from '@leasehold/testkit/redis'
import type { Contestant, Role } from '../contestants/contestant.ts'
import type { BenchOptions } from '../options.ts'

/** A scenario in which lock libraries, or bridges, are compared. */
export interface Scenario {
  readonly name: string
  readonly about: string
  /** The participants, unless the options say otherwise. */
  readonly contestants: readonly Pick<Contestant, 'name'>[]
  /** The figures of its tables, in order. */
  readonly columns: readonly Column[]
  /**
   * Settings, and for each the turns of one round: floors, then contestants, each with its own processes that it warms
   * up. Rounds repeat these turns in the same order, so that what the machine does meanwhile affects all alike.
   */
  settings(options: BenchOptions): readonly (readonly Turn[])[]
}

export interface Column {
  /** The figure's name. */
  readonly name: string
  readonly title: string
  readonly digits: number
  /** Whether less or more is better; if missing, neither is, and there is no ratio. */
  readonly better?: 'less' | 'more'
  /** A ratio to every floor that has the figure, in a row each, instead of only to the first. */
  readonly eachFloor?: boolean
}

export interface Turn {
  readonly name: string
  play(stage: Stage): Promise<readonly Sample[]>
}

/** Where a turn takes place: a Redis of the bench's own, empty when the turn begins. */
export interface Stage {
  readonly server: RedisServer
  readonly admin: RedisAdmin
}

/** What a turn measured for one table. */
export interface Sample {
  /** What the table is about, such as `W = 100, hold 5 ms, 2 processes`. */
  readonly table: string
  readonly row: string
  readonly role: Role
  readonly figures: Figures
}

export type Figures = Readonly<Record<string, number>>
