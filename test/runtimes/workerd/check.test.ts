import { env } from 'cloudflare:workers'
import { check } from '@leasehold/core/check'
import { upstashStore } from '@leasehold/upstash'
import { Redis } from '@upstash/redis/cloudflare'
import { expect, test } from 'vitest'

test('a Worker sees its server through scripts alone', async () => {
  const redis = new Redis({ url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN })
  const { findings, facts } = await check({ store: upstashStore(redis) })
  // The server of this suite keeps nothing on disk.
  expect(findings.map(({ code }) => code)).toEqual(['NO_APPEND_ONLY_FILE'])
  expect(facts).toMatchObject({
    reached: true,
    nodes: [{ report: { role: 'primary', evictionPolicy: 'noeviction' } }],
    script: { rounds: 5 },
  })
})
