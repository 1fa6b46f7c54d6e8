import { type AsyncMethod, LockContendedError, type LockedOptions, locked } from '@leasehold/core/locked'
import { testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'

/*
 * Vitest does not compile standard decorators, so this calls one the way compiled code does. Real ones are compiled
 * where the packages are tested as published.
 */
const decorated = <This, M extends AsyncMethod<This>>(method: M, options: LockedOptions<This, M>): M =>
  locked<This, M>(options)(method, { kind: 'method', name: method.name } as ClassMethodDecoratorContext<This>)

const setUp = () => testLocker({ name: 'here' })
let { locks, elsewhere } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere } = setUp())
})

class Orders {
  readonly locks = locks
  readonly tenant: string
  constructor(tenant: string) {
    this.tenant = tenant
  }
  async process(userId: string, _quantity?: number): Promise<string> {
    const key = `${this.tenant}:${userId}`
    return `${key} ${await elsewhere.isLocked(key)}`
  }
}

describe('a decorated method', () => {
  it('runs under the lock of its instance and its arguments, and has its name and length', async () => {
    const process = decorated<Orders, Orders['process']>(Orders.prototype.process, {
      locks: (self) => self.locks,
      key(userId) {
        return `${this.tenant}:${userId}`
      },
    })
    expect([process.name, process.length]).toEqual(['process', 2])
    expect(await process.call(new Orders('a'), 'u')).toBe('a:u true')
    expect(await process.call(new Orders('b'), 'u')).toBe('b:u true')
    expect(await elsewhere.isLocked('a:u')).toBe(false)
  })

  it('rejects with the failure message while somebody holds the lock', async () => {
    const options = { locks, key: 'k', wait: 0, failureMessage: 'Busy' } as const
    const process = decorated<Orders, Orders['process']>(Orders.prototype.process, options)
    await using _held = await elsewhere.acquire('k')
    await expect(process.call(new Orders('a'), 'u')).rejects.toSatisfy(
      (error) => error instanceof LockContendedError && error.message === 'Busy',
    )
  })
})

describe('a mistake', () => {
  it('in an option is told when the class is made', () => {
    const decorate = () => decorated(Orders.prototype.process, { locks, key: 'k', ttl: -1 })
    expect(decorate).toThrow(expect.objectContaining({ option: 'ttl' }))
  })

  it.each([
    ['a legacy decorator', 'process'],
    ['a decorator of a field', { kind: 'field', name: 'process' }],
    ['a decorator of a getter', { kind: 'getter', name: 'process' }],
  ])('%s is refused by name', (_, context) => {
    const decorate = locked({ locks, key: 'k' }) as (method: unknown, context: unknown) => unknown
    expect(() => decorate(Orders.prototype.process, context)).toThrow(expect.objectContaining({ option: 'locked' }))
  })
})
