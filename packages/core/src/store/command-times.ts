import { type Member, Roster } from '../roster.ts'
import type { Clock } from '../timing/clock.ts'
import { StandingTimer } from '../timing/standing-timer.ts'
import type { Instant } from '../timing/validity.ts'

/** A command whose time is running. */
export interface Timed extends Member {
  /** When its time is up, in monotonic milliseconds. */
  dueMs: number
  timeUp(): void
}

/** Notifies commands when their time is up. Most are answered long before, so they share one timer. */
export class CommandTimes {
  readonly clock: Clock
  readonly #running = new Roster<Timed>()
  readonly #timer: StandingTimer

  /** @param background a clock whose timers run in the locker's async context; omitted for the commands of one call */
  constructor(clock: Clock, background?: Clock) {
    this.clock = clock
    this.#timer = new StandingTimer(background ?? clock, () => this.#onTimer(), background ? 'standing' : 'background')
  }

  /** Starts or restarts the time of a command. */
  begin(command: Timed, withinMs: number, { monotonicMs: nowMs }: Instant): void {
    command.dueMs = nowMs + withinMs
    this.#running.add(command)
    this.#timer.setBy(command.dueMs, nowMs)
  }

  end(command: Timed): void {
    this.#running.delete(command)
    if (this.#running.size === 0) this.#timer.rest()
  }

  #onTimer(): void {
    const nowMs = this.clock.monotonicMs()
    const due = this.#running.all().filter(({ dueMs }) => dueMs <= nowMs)
    // Remove all of them first: one command's `timeUp` may restart the time of another that is due all the same.
    for (const command of due) this.#running.delete(command)
    for (const command of due) command.timeUp()
    for (const { dueMs } of this.#running.all()) this.#timer.setBy(dueMs, nowMs)
  }
}
