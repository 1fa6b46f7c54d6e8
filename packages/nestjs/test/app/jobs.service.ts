import { setTimeout as pause } from 'node:timers/promises'
import type { Locker } from '@leasehold/core'
import { DistributedLock, InjectLocker } from '@leasehold/nestjs'
import { Injectable } from '@nestjs/common'
import { Cron } from '@nestjs/schedule'

/** Jobs that every instance fires each second. */
@Injectable()
export class JobsService {
  constructor(@InjectLocker() private readonly locks: Locker) {}

  @Cron('* * * * * *')
  @DistributedLock({ key: 'cron:short', wait: 0, holdAtLeast: 800, onContended: 'skip' })
  async short(): Promise<void> {
    const { held } = await this.locks.inspect('cron:short')
    console.log(`ran short ${Math.floor(Date.now() / 1_000)} ${held}`)
  }

  @DistributedLock({ key: 'cron:long', wait: 0, holdAtLeast: 800, onContended: 'skip' })
  @Cron('* * * * * *')
  async long(): Promise<void> {
    console.log(`long begins ${Date.now()}`)
    await pause(1_500)
    console.log(`long ends ${Date.now()}`)
  }
}
