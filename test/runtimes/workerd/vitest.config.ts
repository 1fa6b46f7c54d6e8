import { fileURLToPath } from 'node:url'
import { cloudflareTest } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'
import { filesAtOnce } from '../../suites.ts'

/** Tests that run inside workerd themselves. They reach Redis through a gateway that is started beside workerd. */
export default defineConfig({
  plugins: [
    cloudflareTest(({ inject }) => ({
      miniflare: {
        compatibilityDate: '2026-11-02',
        bindings: { GATEWAY_URL: inject('gatewayUrl'), GATEWAY_TOKEN: inject('gatewayToken') },
        cf: false,
      },
    })),
  ],
  test: {
    name: 'workerd',
    // Like all other projects: otherwise these wait until all others are done, on a machine with two processors.
    maxWorkers: filesAtOnce,
    include: ['*.test.ts'],
    globalSetup: fileURLToPath(new URL('../../support/global-setup-workerd.ts', import.meta.url)),
    retry: 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
