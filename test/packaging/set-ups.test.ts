import { setUps } from './set-ups.ts'

/**
 * The oldest and the newest compiler, each module resolution and each format at least once, and each reason for a
 * refusal: `npm run soak` compiles in all ways.
 */
const corners = ['5.0 node10 cjs', '5.9 bundler cjs', '7 node10 esm', '7 node16 cjs', '7 bundler cjs']

setUps(({ typescript, resolution, format }) => corners.includes(`${typescript} ${resolution} ${format}`))
