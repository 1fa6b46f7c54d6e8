import { setUps } from './set-ups.ts'

setUps(() => true)
