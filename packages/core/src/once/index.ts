/** Single flight across processes: many ask, one runs, all get the result. */
export { mostJsonBytes } from './figures.ts'
export { type OnceOptions, once } from './once.ts'
export type { OnceRun, OnceWork } from './run.ts'
