import { cloudflareTest } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

/** Tests that run inside workerd themselves. */
export default defineConfig({
  plugins: [cloudflareTest({ miniflare: { compatibilityDate: '2026-11-02', cf: false } })],
  test: {
    name: 'workerd',
    include: ['*.test.ts'],
    retry: 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
