import type { Redis } from 'ioredis'

/** Something that a worker has done, or has begun to do. */
export interface Entry {
  readonly worker: string
  readonly did: string
}

/** What all workers have done, in the order in which it happened, so that anyone can check it. */
export class Ledger {
  readonly #redis: Redis
  readonly #worker: string

  constructor(redis: Redis, worker: string) {
    this.#redis = redis
    this.#worker = worker
  }

  async write(did: string): Promise<void> {
    const entry: Entry = { worker: this.#worker, did }
    await this.#redis.rpush('jobs:ledger', JSON.stringify(entry))
  }

  async entries(): Promise<readonly Entry[]> {
    return (await this.#redis.lrange('jobs:ledger', 0, -1)).map((line) => JSON.parse(line))
  }
}
