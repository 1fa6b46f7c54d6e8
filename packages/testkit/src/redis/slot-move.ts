import type { RedisServer } from './redis-server.ts'

/**
 * Moves one cluster slot to another node, step by step, as resharding does. Made by `RedisCluster.slotMove`.
 *
 * @example
 * ```ts
 * const move = await cluster.slotMove('lock:order:1')
 * await move.begin()
 * await move.carry('lock:order:1') // its other entries are still at the source
 * await move.carry()
 * await move.end()
 * ```
 */
export class SlotMove {
  readonly slot: number
  readonly source: RedisServer
  readonly target: RedisServer
  readonly #told: readonly RedisServer[]

  /** @param told the primaries that learn of the new node at once; the others learn it from them */
  constructor(slot: number, source: RedisServer, target: RedisServer, told: readonly RedisServer[]) {
    this.slot = slot
    this.source = source
    this.target = target
    this.#told = told
  }

  /** Tells both nodes about the move. Nothing is moved yet. */
  async begin(): Promise<void> {
    await this.target.command('CLUSTER', 'SETSLOT', this.slot, 'IMPORTING', await idOf(this.source))
    await this.source.command('CLUSTER', 'SETSLOT', this.slot, 'MIGRATING', await idOf(this.target))
  }

  /** Moves entries: the given ones, or all that are there. */
  async carry(...entries: readonly string[]): Promise<void> {
    const { source, target, slot } = this
    const migrate = (keys: readonly string[]): Promise<unknown> =>
      source.command('MIGRATE', target.host, target.port, '', 0, 5_000, 'KEYS', ...keys)
    if (entries.length > 0) await migrate(entries)
    else {
      for (;;) {
        const keys = (await source.command('CLUSTER', 'GETKEYSINSLOT', slot, 1_000)) as string[]
        if (keys.length === 0) return
        await migrate(keys)
      }
    }
  }

  /** Tells every primary that the slot is the target's. */
  async end(): Promise<void> {
    const id = await idOf(this.target)
    for (const node of [this.target, this.source, ...this.#told]) {
      await node.command('CLUSTER', 'SETSLOT', this.slot, 'NODE', id)
    }
  }

  /** Begins, moves all entries, and ends. */
  async whole(): Promise<void> {
    await this.begin()
    await this.carry()
    await this.end()
  }
}

const idOf = async (node: RedisServer): Promise<string> => String(await node.command('CLUSTER', 'MYID'))
