import { Problem } from './problem.ts'

/** @throws Problem 400 for a body that is not JSON */
export function objectFrom(body: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(body)) as Record<string, unknown>
  } catch {
    throw new Problem(400, 'invalid-request', 'The body must be JSON')
  }
}
