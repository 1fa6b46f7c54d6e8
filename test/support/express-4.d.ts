/** The parts of Express 4 that the tests use are the same as in Express 5. */
declare module 'express-4' {
  export { default } from 'express'
}
