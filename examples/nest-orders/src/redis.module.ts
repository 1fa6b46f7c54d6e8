import { ioredisBackend, ioredisTransport } from '@leasehold/ioredis'
import type { LeaseholdModuleOptions } from '@leasehold/nestjs'
import { Injectable, Module } from '@nestjs/common'
import { Redis } from 'ioredis'
import { redisUrl, serverName } from './settings.ts'

/** The Redis of the locks and of the records, over one connection. */
@Injectable()
export class RedisClient {
  // A command whose answer was lost may have run. The caller is notified; ioredis must not resend it on its own.
  readonly #client = new Redis(redisUrl, { autoResendUnfulfilledCommands: false })
  readonly transport = ioredisTransport(this.#client)

  constructor() {
    this.#client.on('error', (error: Error) => console.error(`Redis cannot be reached: ${error.message || error.name}`))
  }

  /** The locker needs the connection until it has closed, and is the last to need it. */
  lockerOptions(): LeaseholdModuleOptions {
    return { ...ioredisBackend(this.#client, { name: serverName }), onClosed: () => this.#client.disconnect() }
  }
}

@Module({ providers: [RedisClient], exports: [RedisClient] })
export class RedisModule {}
