/** Web requests under a lock, and what adapters for frameworks need. */
export { answerOf } from './answer-of.ts'
export { lockRefusal } from './lock-refusal.ts'
export {
  type LockedRequestHandle,
  type LockedRequestOptions,
  type LockedWork,
  lockedRequest,
  type RequestLocks,
} from './locked-request.ts'
export { type Problem, problemParts } from './problem.ts'
export { parsedBody, type ServerRequest, type ServerResponse, webRequest } from './web-request.ts'
