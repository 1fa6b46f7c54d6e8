import { idempotent, locked } from '@leasehold/express'
import express5, { type NextFunction, type Request, type Response } from 'express'
import express4 from 'express-4'
import { describe } from 'vitest'
import { type ClaimedWork, frameworkClaims } from '../../../test/support/framework-claims.ts'
import { served } from '../test/served.ts'

/** The routes that the claims use. */
const routes = (express: typeof express5) => (work: ClaimedWork) => {
  const { locks, seen, runs } = work
  const app = express()
  const key = (req: Request): string => req.params['key'] as string
  const scope = (req: Request): string => req.get('x-tenant') ?? 'anonymous'
  app.get('/seen', (_, res) => void res.json(seen))
  app.get('/once/runs/:key', (req, res) => void res.json(runs.get(req.params.key) ?? 0))
  app.all(
    '/once/payments',
    idempotent({ locks, scope, headers: ['x-receipt'] }, (request) => work.once(request)),
  )
  const under = (options: object) => locked({ locks, key, ...options }, (request) => work.locked(request))
  app.get('/at-once/:key', under({ wait: 0, ttl: '1500ms' }))
  app.get('/or-423/:key', under({ wait: 0, onContended: 423 }))
  app.get('/patient/:key', under({ wait: '40s', ttl: '40s' }))
  // Express recognizes an error handler by its four parameters.
  app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => void res.status(500).send(error.message))
  return served(app)
}

describe('in Express 5', () => {
  frameworkClaims(routes(express5))
})

describe('in Express 4', () => {
  frameworkClaims(routes(express4))
})
