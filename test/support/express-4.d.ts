/** What the tests use of Express 4 is as in Express 5. */
declare module 'express-4' {
  export { default } from 'express'
}
