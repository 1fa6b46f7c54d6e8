import type { Locks } from './locks.ts'
import { Problem } from './problem.ts'
import type { Records } from './records.ts'

export interface IssuedCoupon {
  readonly couponId: string
  readonly userId: string
  /** The first is 1. */
  readonly number: number
  readonly limit: number
  /** True if the user already had it. */
  readonly duplicate: boolean
}

export interface CouponDesk {
  /**
   * Gives a user one coupon while there are some left. A repeat gets the coupon that the user has.
   *
   * @throws Problem if there is no such coupon, or none left
   * @throws whatever `withLock` and the records throw
   */
  issue(couponId: string, userId: string, signal: AbortSignal): Promise<IssuedCoupon>
}

interface CouponDeskOptions {
  readonly locks: Locks
  readonly records: Records
  readonly server: string
  readonly limits: ReadonlyMap<string, number>
}

export function couponDesk({ locks, records, server, limits }: CouponDeskOptions): CouponDesk {
  return {
    async issue(couponId, userId, signal) {
      const limit = limits.get(couponId)
      if (limit === undefined) throw new Problem(404, 'no-such-coupon', `There is no coupon ${couponId}`)
      const key = `coupon:${couponId}`

      /** The answer for a user who is on the list or comes too late; undefined if the user is to get a coupon. */
      const answerFrom = (users: readonly string[]): IssuedCoupon | undefined => {
        const index = users.indexOf(userId)
        if (index >= 0) return { couponId, userId, number: index + 1, limit, duplicate: true }
        if (users.length >= limit)
          throw new Problem(410, 'coupon-gone', `All ${limit} of coupon ${couponId} are issued`)
        return undefined
      }

      // The list only grows, so both answers hold without the lock.
      const answer = answerFrom(usersIn(await records.peek(key)))
      if (answer) return answer

      return locks.withLock(key, { signal }, async (hold) => {
        const { fence } = hold
        const users = usersIn(await records.open(key, fence))
        const answer = answerFrom(users)
        if (answer) return answer
        const effect = { effect: `issue:${couponId}:${userId}`, server, key, fence }
        hold.assertValid()
        await records.commit(key, JSON.stringify([...users, userId]), effect)
        return { couponId, userId, number: users.length + 1, limit, duplicate: false }
      })
    },
  }
}

const usersIn = (record: string | null): readonly string[] => (record === null ? [] : (JSON.parse(record) as string[]))

/**
 * Reads a list such as `welcome:100,launch:3`.
 *
 * @throws Error if it is something else
 */
export function couponLimits(list: string): ReadonlyMap<string, number> {
  return new Map(
    list.split(',').map((item) => {
      const match = /^([\w-]{1,64}):(\d{1,6})$/.exec(item)
      if (!match) throw new Error(`COUPONS must be a list such as "welcome:100,launch:3", not "${list}"`)
      return [match[1] as string, Number(match[2])]
    }),
  )
}
