import { setUps } from './set-ups.ts'

/** The corners: `npm run soak` compiles in all ways. What is refused for an option costs nothing, nor does TypeScript 7. */
const corners = ['5.0 node10 cjs', '5.4 bundler esm']

setUps(
  ({ typescript, resolution, format }) =>
    typescript === '7' ||
    (resolution === 'bundler' && format === 'cjs') ||
    corners.includes(`${typescript} ${resolution} ${format}`),
)
