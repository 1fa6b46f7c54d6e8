import { sharesBetweenCalls as chosenAnswer, clockWithin as chosenClock, homeContext as chosenHome } from '#sharing'
import type { Home } from '../sharing/home-context.ts'
import type { Clock } from '../timing/clock.ts'

/** Whether calls in a process may share promises, timers and connections. On Workers they may not. Ask at each call. */
export const sharesBetweenCalls: () => boolean = chosenAnswer

/**
 * Makes a function that runs tasks in the async context in which `homeContext` was called, so that work that outlives a
 * call does not keep the caller's context alive. Where calls share nothing, a task runs at once, in its caller's
 * context.
 */
export const homeContext: () => Home = chosenHome

/** Makes a clock that sets its timers through `run`, in the async context that `run` chooses. */
export const clockWithin: (clock: Clock, run: (task: () => void) => void) => Clock = chosenClock
