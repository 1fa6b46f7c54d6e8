import { startRedis } from '@leasehold/testkit/redis'
import { afterAll } from 'vitest'
import { newest } from '../test/clients.ts'
import { conformance } from '../test/conformance.ts'

const redis = await startRedis()
afterAll(() => redis.stop())

conformance(newest.name, [redis], (way) => newest.create({ socket: { ...way, reconnectStrategy: 20 } }))
