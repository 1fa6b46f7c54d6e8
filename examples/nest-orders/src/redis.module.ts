import { ioredisBackend, ioredisTransport } from '@leasehold/ioredis'
import type { LeaseholdModuleOptions } from '@leasehold/nestjs'
import { Injectable, Module } from '@nestjs/common'
import { Redis } from 'ioredis'
import { redisUrl, serverName } from './settings.ts'

/** The Redis of the locks and of the records, over one connection. */
@Injectable()
export class RedisClient {
  // A command whose answer got lost may have run. The caller is told; ioredis must not send it again by itself.
  readonly #client = new Redis(redisUrl, { autoResendUnfulfilledCommands: false })
  readonly transport = ioredisTransport(this.#client)

  constructor() {
    this.#client.on('error', (error: Error) => console.error(`Redis cannot be reached: ${error.message || error.name}`))
  }

  /** The locker needs the connection to its end, and is the last that does. */
  lockerOptions(): LeaseholdModuleOptions {
    return { ...ioredisBackend(this.#client, { name: serverName }), onClosed: () => this.#client.disconnect() }
  }
}

@Module({ providers: [RedisClient], exports: [RedisClient] })
export class RedisModule {}
