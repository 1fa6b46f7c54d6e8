import type { Makings } from '#process-state'
import type { KeyLayout } from '../redis/keys.ts'
import { decoder, itself, notALock } from '../redis/replies.ts'
import { runScript } from '../redis/run-script.ts'
import type { HandOverStore, ResumeOutcome, ResumeRequest } from '../store/hand-over.ts'
import { parseToken } from '../store/token.ts'
import { resume } from './generated/resume.ts'

/** Resumes leases of a Redis store, with one command for each. */
export function redisHandOver([transport, memory]: Makings, keys: KeyLayout): HandOverStore {
  type Encoded = [string, string, string, string, string, string]
  const encode = ({ key, token, fence, acquisitionId, ttlMs }: ResumeRequest): Encoded => [
    keys.lock(key),
    keys.fence(key),
    token,
    String(fence),
    acquisitionId,
    String(ttlMs),
  ]
  return {
    async resume(request, call) {
      const [outcome] = await runScript(transport, resume, [memory], 2, [request], encode, resumeOutcome, call)
      return outcome as ResumeOutcome
    },
  }
}

const resumeOutcome = decoder<ResumeOutcome>({
  bare: (token) => {
    const parsed = parseToken(token)
    return !!parsed && { type: 'granted', token: token as string, fence: parsed.fence }
  },
  gone: itself,
  superseded: itself,
  spent: itself,
  other: notALock,
})
