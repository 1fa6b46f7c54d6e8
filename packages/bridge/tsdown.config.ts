import type { UserConfig } from 'tsdown'
import { packageBuild } from '../../tsdown.base.ts'

const build = packageBuild(import.meta.dirname)

const config: UserConfig = {
  ...build,
  // Beside what `exports` names, the programs that `bin` names, which run on Node.
  entry: [...(build.entry as readonly string[]), 'src/bin/bridge.ts', 'src/bin/gateway.ts'],
  deps: { neverBundle: [/^node:/] },
}

export default config
