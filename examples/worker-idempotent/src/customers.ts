import { env } from 'cloudflare:workers'
import { Problem } from './problem.ts'

/**
 * The customer who sends a request. Keys of different customers must never meet, so this is the scope of every key.
 *
 * @throws Problem 401 for anybody else
 */
export function customerOf(request: Request): string {
  const [, given] = /^Bearer (\S+)$/.exec(request.headers.get('authorization') ?? '') ?? []
  for (const entry of env.CUSTOMERS.split(' ')) {
    const [customer = '', secret] = entry.split(':')
    if (given !== undefined && secret === given) return customer
  }
  throw new Problem(401, 'unknown-customer', 'Send your token', { 'www-authenticate': 'Bearer' })
}
