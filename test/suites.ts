/*
 * Which test belongs to which suite. `npm test` runs all four; `pnpm test:<suite>` runs one.
 *
 * A test that is not listed is a unit test. It starts no server and no process, and fails if it tries. So a new test
 * that needs either gets a line here.
 */

/**
 * Real servers and processes: Redis, the bridge, the gateway, HTTP servers and proxies. Also models, which play
 * thousands of runs.
 */
const servers = [
  'packages/bridge/src/bin/{bridge,gateway,redis-user}.test.ts',
  'packages/bridge/src/gateway/{commands,failures,refusals,subscribe}.test.ts',
  'packages/bridge/src/server/{bridge,failures,plain-client}.test.ts',
  'packages/bridge-client/src/{event-stream,long-poll,readme,token-function}.test.ts',
  'packages/cli/src/{commands,on-terminal}.test.ts',
  'packages/cli/src/doctor/doctor.test.ts',
  'packages/cli/src/stress/processes.test.ts',
  'packages/core/src/fencing/guarded-set*.test.ts',
  'packages/core/src/presence/many-sessions.test.ts',
  'packages/{express,fastify}/src/*.test.ts',
  'packages/core/src/redis/connected/key-slot.test.ts',
  'packages/hono/src/{on-node,readme}.test.ts',
  'packages/idempotency/src/readme.test.ts',
  'packages/ioredis/src/*.test.ts',
  'packages/node-redis/src/*.test.ts',
  'packages/nestjs/src/in-nest.test.ts',
  'packages/testkit/src/{http-proxy,tcp-proxy}.test.ts',
  'packages/testkit/src/redis/*.test.ts',
  'packages/upstash/src/!(bundle-size).test.ts',
  'test/{bench,bridge,cases,check,faults,leftovers,model,operating,readme,topologies}/**/*.test.ts',
  'examples/!(hono-api|worker-idempotent|nest-orders)/**/*.test.ts',
  'examples/nest-orders/test/readme.test.ts',
]

/**
 * workerd, wrangler, and bundles as Workers get them. `test/runtimes/workerd` runs inside workerd, and is added there.
 */
const edge = [
  'packages/bridge/src/durable-object/*.test.ts',
  '**/bundle-size.test.ts',
  'examples/{hono-api,worker-idempotent}/**/*.test.ts',
  'examples/nest-orders/test/coupons.test.ts',
  'test/runtimes/{bridge-killed,hibernating-sessions,hono,leaving-workers,module-scope,overlapping-requests}.test.ts',
  'test/runtimes/{watchdog-and-workers,worker-and-server*}.test.ts',
]

/** The packages as published, on each version of Node, on Bun, on Deno and in Chromium. */
const runtimes = [
  'test/runtimes/{browser,conformance,runtimes-published,sent-twice}.test.ts',
  'test/packaging/**/*.test.ts',
]

/** The suites that are listed, by name. */
export const listed = { servers, edge, runtimes } as const

/** What runs inside workerd: each folder is a project with its own configuration. They belong to `edge`. */
export const workerd = ['test/runtimes/workerd', 'test/runtimes/watchdog'] as const

/**
 * How many test files run at once, in every project. Tests mostly wait, for expiries and for processes: five keep the two
 * processors of a small machine busy, three leave a third of their time unused.
 */
export const filesAtOnce = 5

/** All test files, except those that only a soak runs. */
export const all = ['packages/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts']
export const never = ['**/node_modules/**', '**/dist/**', '**/.types/**']
export const soakOnly = ['**/*.soak.test.ts']

/**
 * What a soak runs one at a time, after the rest: cases that fill the machine with processes, and cases whose limits
 * measure how fast something is.
 */
export const soakAlone = [
  'test/bench/{listing,long-queue-times.soak}.test.ts',
  'test/bridge/queued.test.ts',
  'test/cases/{queues,semaphores,several-locks}.test.ts',
  'test/faults/{history,rolling-restart}.test.ts',
]

/** What else a soak runs: cases with their literal times and counts, and tests that only make sense that way. */
export const soak = [
  ...soakOnly,
  'packages/ioredis/src/{cluster-,}conformance.test.ts',
  'packages/node-redis/src/*.test.ts',
  'packages/cli/src/{on-terminal,doctor/doctor}.test.ts',
  'test/{cases,faults,model,topologies}/**/*.test.ts',
  'test/bench/long-queues.test.ts',
  'packages/nestjs/src/in-nest.test.ts',
  'examples/shared-document/test/page.test.ts',
  'test/operating/stuck-lock.test.ts',
  'examples/worker-idempotent/test/{burst,killed-worker}.test.ts',
  'examples/nest-orders/test/{coupons,readme}.test.ts',
  'test/runtimes/{bridge-killed,conformance,hibernating-sessions,worker-and-server*}.test.ts',
]
