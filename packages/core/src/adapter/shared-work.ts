import { sharesBetweenCalls as chosenAnswer, clockWithin as chosenClock, homeContext as chosenHome } from '#sharing'
import type { Home } from '../sharing/home-context.ts'
import type { Clock } from '../timing/clock.ts'

/** Whether calls of one process may share promises, timers and connections: not on Workers. Ask at each call. */
export const sharesBetweenCalls: () => boolean = chosenAnswer

/**
 * What runs tasks in the async context in which this was called, so that no caller's context is kept alive by work that
 * outlives the call. Where calls share nothing, a task runs at once and where it is.
 */
export const homeContext: () => Home = chosenHome

/** A clock whose timers are armed by `run`: in an async context of its choice. */
export const clockWithin: (clock: Clock, run: (task: () => void) => void) => Clock = chosenClock
