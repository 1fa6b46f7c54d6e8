import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { redisArena } from '../support/arena.ts'
import { rounds } from '../support/scale.ts'

const worker = new URL('../support/claim-worker.ts', import.meta.url)

it('T-03: competing processes claim each item once, and whoever is told "acquired" is the holder in the store', async () => {
  await using arena = await redisArena()
  const items = rounds(200, 60)
  const processes = rounds(10, 5)
  for (let run = 0; run < rounds(5, 2); run++) {
    const prefix = `${arena.prefix}run-${run}:`
    const children = Array.from({ length: processes }, (_, index) => {
      const args = [arena.server.url, prefix, String(items), `worker-${index}`]
      return fork(worker, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    })
    await Promise.all(children.map((child) => once(child, 'message')))
    for (const child of children) child.send('go')
    await Promise.all(children.map((child) => once(child, 'message')))

    const claims = (await arena.command('LRANGE', `${prefix}log`, 0, -1)) as string[]
    const claimed = claims.map((claim) => claim.split(' ')[0])
    expect(claimed.sort()).toEqual(Array.from({ length: items }, (_, item) => `item-${item}`).sort())
    for (const claim of claims) {
      const [item, name, fence] = claim.split(' ')
      const value = String(await arena.command('GET', `${prefix}${item}`))
      expect(value.startsWith(`${name}.`)).toBe(true)
      expect(value.endsWith(`.${fence}`)).toBe(true)
    }
    const exits = children.map((child) => once(child, 'exit'))
    for (const child of children) child.send('end')
    await Promise.all(exits)
  }
}, 120_000)
