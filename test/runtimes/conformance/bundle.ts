import { builtinModules } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build } from 'esbuild'
import type { Client } from './clients.ts'

const shared = {
  bundle: true,
  write: false,
  format: 'esm',
  target: 'es2022',
  logLevel: 'silent',
} satisfies BuildOptions

/**
 * The claims about a client as one file, with Vitest's runner and our sources; the client itself is resolved where it
 * runs.
 */
export const programOf = ({ family, module }: Client): Promise<string> =>
  bundled(
    `${module ? `import * as client from '${module}'` : 'const client = undefined'}
     import { declare } from './families/${family}.ts'
     import { runClaims } from './claim-runner.ts'
     const servers = JSON.parse(process.argv[2])
     console.log(JSON.stringify(await runClaims(() => declare(servers, client))))`,
    { ...shared, platform: 'node', external: module ? [module] : [] },
  )

/**
 * The same as a Worker, which includes the client, and answers a request with the results of the claims. It imports
 * within the request: Vitest sets a timer when it is loaded, which a Worker may do nowhere else.
 */
export const workerOf = ({ family, module, moduleInWorkers = module }: Client): Promise<string> =>
  bundled(
    `const uncaught = []
     addEventListener('unhandledrejection', ({ reason }) => uncaught.push(reason?.stack ?? String(reason)))
     export default {
       async fetch(request) {
         const client = ${moduleInWorkers ? `await import('${moduleInWorkers}')` : 'undefined'}
         const { declare } = await import('./families/${family}.ts')
         const { runClaims } = await import('./claim-runner.ts')
         const servers = await request.json()
         const claims = await runClaims(() => declare(servers, client))
         if (uncaught.length > 0) return new Response(uncaught.join(), { status: 500 })
         return Response.json(claims)
       }
     }`,
    {
      ...shared,
      platform: 'browser',
      conditions: ['workerd'],
      external: ['node:*', ...builtinModules],
      ...(needsNode(family) && { banner: { js: makesRequire } }),
    },
  )

/** TCP clients need Node's modules. */
export const needsNode = (family: Client['family']): boolean => family === 'ioredis' || family === 'node-redis'

/** Their requires of Node modules stay `require` calls, which an ES module has to create. */
const makesRequire = `import { createRequire } from 'node:module'; const require = createRequire('/');`

async function bundled(contents: string, options: BuildOptions & { write: false }): Promise<string> {
  const resolveDir = fileURLToPath(new URL('.', import.meta.url))
  const { outputFiles } = await build({ ...options, stdin: { contents, resolveDir } })
  return outputFiles?.[0]?.text ?? ''
}
