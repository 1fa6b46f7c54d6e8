import type { Lease } from '@leasehold/core'
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
   * The answer for a user who has the coupon already; undefined for one who should get it. It needs no lock: the list
   * of users only grows.
   *
   * @throws Problem if there is no such coupon, or none left
   * @throws whatever the records throw
   */
  answer(couponId: string, userId: string): Promise<IssuedCoupon | undefined>
  /**
   * Gives a user one coupon while there are some left, as the holder of the lock {@link couponKey}. A repeat gets the coupon
   * that the user has.
   *
   * @throws what `answer` throws
   * @throws LeaseLostError when the lease is over
   */
  issue(couponId: string, userId: string, lease: Lease): Promise<IssuedCoupon>
}

interface CouponDeskOptions {
  readonly records: Records
  readonly server: string
  readonly limits: ReadonlyMap<string, number>
}

/** The key of a coupon's lock and of its record. */
export const couponKey = (couponId: string): string => `coupon:${couponId}`

export function couponDesk({ records, server, limits }: CouponDeskOptions): CouponDesk {
  function answerFrom(record: string | null, couponId: string, userId: string): IssuedCoupon | undefined {
    const users = usersIn(record)
    const limit = limitOf(couponId)
    const index = users.indexOf(userId)
    if (index >= 0) return { couponId, userId, number: index + 1, limit, duplicate: true }
    if (users.length >= limit) throw new Problem(410, 'coupon-gone', `All ${limit} of coupon ${couponId} are issued`)
    return undefined
  }

  function limitOf(couponId: string): number {
    const limit = limits.get(couponId)
    if (limit === undefined) throw new Problem(404, 'no-such-coupon', `There is no coupon ${couponId}`)
    return limit
  }

  return {
    async answer(couponId, userId) {
      limitOf(couponId)
      return answerFrom(await records.peek(couponKey(couponId)), couponId, userId)
    },

    async issue(couponId, userId, lease) {
      const { key, fence } = lease
      const record = await records.open(key, fence)
      const answer = answerFrom(record, couponId, userId)
      if (answer) return answer
      const users = [...usersIn(record), userId]
      lease.assertValid()
      await records.commit(key, JSON.stringify(users), { effect: `issue:${couponId}:${userId}`, server, key, fence })
      return { couponId, userId, number: users.length, limit: limitOf(couponId), duplicate: false }
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
